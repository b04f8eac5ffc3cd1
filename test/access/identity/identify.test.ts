import { createSIWxPayload, encodeSIWxHeader } from '@x402/extensions/sign-in-with-x'
import fc from 'fast-check'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CallerIdentity } from '#access/identity/caller-identity.ts'
import { ApiKeys } from '#access/keys/api-keys.ts'
import { SignInError } from '#contract/errors/failures.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { listModels } from '#contract/operations/models.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { getWalletBalance, topUp } from '#contract/operations/wallet.ts'
import { openWalletAccount } from '#ledger/accounts/customers.ts'
import type { Store } from '#ledger/store/store.ts'
import { account, wallet as link, unit } from '../../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import { ManualClock, noonMs } from '../limits/manual-clock.ts'
import { evmWallet, type MessageFields, solanaWallet, type TestWallet } from './signed-header.ts'

const keyOnly: Operation = { ...createChatCompletion, auth: ['apiKey'] }

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
let clock: ManualClock
let keys: ApiKeys
let identity: CallerIdentity
let secret: string

function identityOf(signInWindow: boolean, store: Store = opened.store): CallerIdentity {
  return new CallerIdentity({
    store,
    clock,
    keys,
    settings: {
      publicUrl: 'https://api.example:8443',
      signInDomains: ['api.example:8443'],
      signInWindow,
      plan: 'default',
    },
  })
}

beforeEach(async () => {
  opened = await openTemporaryStore()
  clock = new ManualClock(noonMs)
  keys = new ApiKeys({ store: opened.store, clock, serverSecrets: [Buffer.alloc(32, 1)] })
  identity = identityOf(false)
  await opened.store.commit([unit(account('ada'))])
  secret = (await keys.create({ account: 'ada', label: 'laptop', expiresAtMs: null })).secret
})

afterEach(() => opened.dispose())

type Headers = Record<string, string | string[]>

const identify = (headers: Headers, operation: Operation = createChatCompletion, by: CallerIdentity = identity) =>
  by.identify(operation, name => [headers[name] ?? []].flat())

async function refusal(headers: Headers, operation?: Operation, by?: CallerIdentity): Promise<ServiceError> {
  const error = await identify(headers, operation, by).then(
    principal => new Error(`identified ${JSON.stringify(principal)}`),
    reason => reason,
  )
  if (error instanceof ServiceError) return error
  throw error
}

const signIn = (value: string, operation?: Operation, by?: CallerIdentity) =>
  identify({ 'sign-in-with-x': value }, operation, by)

const codeOf = async (value: string, by?: CallerIdentity) => {
  const error = await refusal({ 'sign-in-with-x': value }, undefined, by)
  expect(error.status).toBe(401)
  return SignInError.parse(error.body).code.replace('X402_SIGN_IN_', '')
}

let nonces = 0
const iso = (offsetMs: number): string => new Date(clock.now() + offsetMs).toISOString()
const fields = (changes: Partial<MessageFields> = {}): MessageFields => ({
  domain: 'api.example',
  statement: 'Sign in to Service API',
  uri: 'https://api.example/api/v1/chat/completions',
  chain: '8453',
  nonce: (nonces++).toString(16).padStart(16, '0'),
  issuedAt: iso(0),
  expirationTime: iso(300_000),
  ...changes,
})

const solana = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const wallets: [string, () => TestWallet, string][] = [
  ['EVM', evmWallet, '8453'],
  ['Solana', solanaWallet, solana],
]

describe('§5.1 keys', () => {
  test.each([
    ['as the brief writes it', (key: string) => `Bearer ${key}`],
    ['with a scheme in small letters', (key: string) => `bearer ${key}`],
    ['with room to spare', (key: string) => `  BEARER   ${key} `],
  ])('a key is accepted %s', async (_how, format) => {
    expect(await identify({ authorization: format(secret) })).toMatchObject({ kind: 'key', account: 'ada' })
  })

  test.each([
    ['another scheme', 'Basic YWRhOnNlY3JldA==', 401],
    ['no scheme', 'fb_x', 401],
    ['no token', 'Bearer', 401],
    ['two tokens', 'Bearer one two', 401],
    ['an unknown key', `Bearer fb_${'x'.repeat(43)}`, 401],
    ['a header without end', `Bearer ${'x'.repeat(100_000)}`, 401],
    ['nothing', '', 401],
    ['two headers', ['Bearer one', 'Bearer two'], 400],
    ['two headers joined', 'Bearer one, Bearer two', 400],
  ])('%s is refused', async (_what, authorization, status) => {
    expect(await refusal({ authorization })).toMatchObject({ status })
  })

  test('any other text is a 400 or a 401', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string(), { minLength: 1, maxLength: 3 }), async authorization => {
        expect([400, 401]).toContain((await refusal({ authorization })).status)
      }),
    )
  })

  test('a revoked key is refused at once', async () => {
    const principal = await identify({ authorization: `Bearer ${secret}` })
    if (principal?.kind !== 'key') throw new Error('no key')
    await keys.revoke(principal.keyId)
    expect(await refusal({ authorization: `Bearer ${secret}` })).toMatchObject({ status: 401 })
  })
})

describe('published contract §2.5: which of them counts', () => {
  const both = async () => ({ authorization: `Bearer ${secret}`, 'sign-in-with-x': await evmWallet().header(fields()) })

  test('the wallet wins where both are there', async () => {
    expect(await identify(await both())).toMatchObject({ kind: 'wallet' })
  })

  test('the wallet wins over an Authorization that means nothing', async () => {
    expect(await identify({ ...(await both()), authorization: 'Bearer' })).toMatchObject({ kind: 'wallet' })
  })

  test('a wrong sign-in is not made good by a key', async () => {
    expect(await refusal({ ...(await both()), 'sign-in-with-x': 'bm8=' })).toMatchObject({ status: 401 })
  })

  test('a route for keys ignores the wallet', async () => {
    expect(await identify(await both(), keyOnly)).toMatchObject({ kind: 'key' })
    expect(await signIn('nonsense', keyOnly)).toBeNull()
  })

  test('a record of a wallet ignores the key', async () => {
    expect(await identify({ authorization: `Bearer ${secret}` }, getWalletBalance)).toBeNull()
  })

  test('an operation without credentials ignores them', async () => {
    expect(await identify({ authorization: 'nonsense', 'sign-in-with-x': 'nonsense' }, listModels)).toBeNull()
  })

  test('a request with neither credential is anonymous', async () => {
    expect(await identify({})).toBeNull()
  })

  test('the older name is taken, both with one value too, and with two values neither', async () => {
    expect(await identify({ 'x-sign-in-with-x': await evmWallet().header(fields()) })).toMatchObject({ kind: 'wallet' })
    const value = await evmWallet().header(fields())
    expect(await identify({ 'x-sign-in-with-x': value, 'sign-in-with-x': value })).toMatchObject({ kind: 'wallet' })
    expect(await refusal({ 'x-sign-in-with-x': value, 'sign-in-with-x': 'bm8=' })).toMatchObject({ status: 400 })
    expect(await refusal({ 'sign-in-with-x': [value, value] })).toMatchObject({ status: 400 })
  })

  test.each(['payment-signature', 'x-402-payment', 'x-payment'])('%s is for the top-up alone', async name => {
    expect(await refusal({ [name]: 'e30=' })).toMatchObject({
      status: 400,
      body: { code: 'PAYMENT_HEADER_NOT_ACCEPTED' },
    })
    expect(await refusal({ [name]: 'e30=' }, listModels)).toMatchObject({ status: 400 })
    expect(await identify({ [name]: 'e30=' }, topUp)).toBeNull()
  })
})

describe.each(wallets)('§5.2 sign-in by %s', (_network, makeWallet, chain) => {
  const header = (changes: Partial<MessageFields> = {}, payload?: Record<string, unknown>) =>
    makeWallet().header(fields({ chain, ...changes }), payload)

  const idOf = ({ address }: TestWallet) => (address.startsWith('0x') ? address.toLowerCase() : address)

  test('a new wallet acts for its own name and leaves no row but its nonce', async () => {
    const wallet = makeWallet()
    const first = await signIn(await wallet.header(fields({ chain })))
    const normalized = idOf(wallet)
    const account = `wallet:${normalized}`
    expect(first).toEqual({ kind: 'wallet', account, wallet: normalized, plan: 'default', isNew: true })
    for (const table of ['wallet', 'account'] as const) {
      const rows = await opened.store.read.selectFrom(table).selectAll().where('id', 'like', '%0x%').execute()
      expect(rows).toEqual([])
    }
    await opened.store.commit([unit(...openWalletAccount(normalized, noonMs))])
    expect(await signIn(await wallet.header(fields({ chain })))).toEqual({ ...first, isNew: false })
  })

  test('acts for the account that the wallet was linked to', async () => {
    const wallet = makeWallet()
    await opened.store.commit([unit(link(idOf(wallet)))])
    expect(await signIn(await wallet.header(fields({ chain })))).toMatchObject({ account: 'ada', isNew: false })
  })

  test('A1: 100 uses of one header at once are one success', async () => {
    const value = await header()
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => signIn(value)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await codeOf(value)).toBe('NONCE_REUSED')
  })

  test('A1: a used nonce is refused by every process, for as long as its message is valid', async () => {
    const value = await header({ issuedAt: iso(60_000), expirationTime: undefined })
    await signIn(value)
    clock.advance(6 * 60_000)
    await opened.store.prune({ table: 'nonce', expiredBeforeMs: clock.now() }, 100)
    expect(await codeOf(value, identityOf(false))).toBe('NONCE_REUSED')
  })

  test('A1: a nonce is used once per wallet, so no wallet can use up another wallet’s nonce', async () => {
    const nonce = 'ab'.repeat(8)
    await signIn(await header({ nonce }))
    expect(await signIn(await header({ nonce }))).toMatchObject({ kind: 'wallet' })
  })

  test('a signature that is wrong uses up no nonce', async () => {
    const wallet = makeWallet()
    const same = fields({ chain })
    const other = JSON.parse(Buffer.from(await makeWallet().header(same), 'base64').toString())
    expect(await codeOf(await wallet.header(same, { signature: other.signature }))).toBe('INVALID_SIGNATURE')
    expect(await signIn(await wallet.header(same))).toMatchObject({ kind: 'wallet' })
  })

  test('A13: of an unknown wallet at a blocked address, no signature is verified and no nonce used up', async () => {
    const blocked = new Error('blocked')
    const atBlockedAddress = (value: string) =>
      identity.identify(
        createChatCompletion,
        name => (name === 'sign-in-with-x' ? [value] : []),
        () => {
          throw blocked
        },
      )
    const wallet = makeWallet()
    const same = fields({ chain })
    const { signature } = JSON.parse(Buffer.from(await makeWallet().header(same), 'base64').toString())
    const [value, forged] = [await wallet.header(same), await wallet.header(same, { signature })]
    for (const each of [value, forged]) await expect(atBlockedAddress(each)).rejects.toBe(blocked)
    await opened.store.commit([unit(...openWalletAccount(idOf(wallet), noonMs))])
    await expect(atBlockedAddress(forged)).rejects.toMatchObject({ status: 401 })
    expect(await atBlockedAddress(value)).toMatchObject({ kind: 'wallet', isNew: false })
  })

  test('with reuse allowed, one header works until it expires, ten minutes at most', async () => {
    const windowed = identityOf(true)
    const value = await header({ expirationTime: iso(365 * 24 * 3_600_000) })
    const first = await signIn(value, undefined, windowed)
    clock.advance(11 * 60_000)
    expect(await signIn(value, undefined, windowed)).toEqual(first)
    clock.advance(1)
    expect(await codeOf(value, windowed)).toBe('EXPIRED')
  })

  test('with the window open, another message with a nonce that was seen is verified by itself', async () => {
    const windowed = identityOf(true)
    const wallet = makeWallet()
    const same = fields({ chain })
    const value = await wallet.header(same)
    await signIn(value, undefined, windowed)
    const { signature } = JSON.parse(Buffer.from(value, 'base64').toString())
    const forged = await wallet.header({ ...same, statement: 'Another text' }, { signature })
    expect(await codeOf(forged, windowed)).toBe('INVALID_SIGNATURE')
  })

  type Row = [
    rule: string,
    code: string,
    changes: () => Partial<MessageFields>,
    payload?: () => Record<string, unknown>,
  ]
  const rows: Row[] = [
    ['A2 another site', 'DOMAIN_MISMATCH', () => ({ domain: 'api.example.evil' })],
    ['A2 another port of our host', 'DOMAIN_MISMATCH', () => ({ domain: 'api.example:9999' })],
    ['A2 another port in the address', 'DOMAIN_MISMATCH', () => ({ uri: 'https://api.example:1/x' })],
    ['A2 another scheme', 'DOMAIN_MISMATCH', () => ({ uri: 'wss://api.example/x' })],
    ['A2 a site before ours', 'DOMAIN_MISMATCH', () => ({ uri: 'https://api.example@evil.example/' })],
    ['A2 another site’s address', 'DOMAIN_MISMATCH', () => ({ uri: 'https://evil.example/' })],
    [
      'A5 older than five minutes and the skew',
      'EXPIRED',
      () => ({ issuedAt: iso(-360_001), expirationTime: iso(1e9) }),
    ],
    ['A5 expired beyond the skew', 'EXPIRED', () => ({ issuedAt: iso(-90_000), expirationTime: iso(-60_001) })],
    ['A5 from the future', 'FUTURE_TIMESTAMP', () => ({ issuedAt: iso(60_001) })],
    ['A5 not yet', 'NOT_BEFORE', () => ({ notBefore: iso(60_001) })],
    ['A4 another timestamp', 'TIMESTAMP_MISMATCH', () => ({}), () => ({ timestamp: clock.now() + 30_001 })],
  ]
  test.each(rows)('%s: %s', async (_rule, code, changes, payload) => {
    expect(await codeOf(await header(changes(), payload?.()))).toBe(code)
  })

  test.each([
    [
      'our port, capitals and a path',
      () => ({ domain: 'Api.example:8443', uri: 'http://API.example/x?y#z' }),
      () => ({}),
    ],
    ['as old as may be', () => ({ issuedAt: iso(-360_000), expirationTime: undefined }), () => ({})],
    ['just expired', () => ({ issuedAt: iso(-90_000), expirationTime: iso(-60_000) }), () => ({})],
    ['as far ahead as may be', () => ({ issuedAt: iso(60_000), notBefore: iso(60_000) }), () => ({})],
    ['a timestamp', () => ({}), () => ({ timestamp: clock.now() - 30_000 })],
    ['no statement', () => ({ statement: undefined }), () => ({})],
  ])('is taken with %s', async (_what, changes, payload) => {
    expect(await signIn(await header(changes(), payload()))).toMatchObject({ kind: 'wallet' })
  })
})

describe('§5.2 chains and addresses', () => {
  test('A6: a test network is refused', async () => {
    expect(await codeOf(await evmWallet().header(fields({ chain: '84532' })))).toBe('UNSUPPORTED_CHAIN')
  })

  test('A6: an EVM signature under a Solana chain id is refused', async () => {
    const value = await evmWallet().header(fields(), { chainId: `solana:${solana}` })
    expect((await refusal({ 'sign-in-with-x': value })).status).toBe(401)
  })

  test('A4: another address beside the message is refused', async () => {
    const value = await evmWallet().header(fields(), { address: evmWallet().address })
    expect(await codeOf(value)).toBe('ADDRESS_MISMATCH')
  })

  test('the records of a wallet answer the sentence of the published contract', async () => {
    const { body } = await refusal({ 'sign-in-with-x': 'bm8=' }, getWalletBalance)
    expect(body).toMatchObject({ error: 'Invalid Sign-in-with-x signature' })
  })
})

test('whatever a sign-in header says, the answer is 400 or 401', async () => {
  const valid = JSON.parse(Buffer.from(await evmWallet().header(fields()), 'base64').toString())
  const mutated = fc
    .tuple(fc.constantFrom(...Object.keys(valid), 'timestamp', 'chainId', 'type', 'nonce'), fc.jsonValue())
    .map(([name, value]) => Buffer.from(JSON.stringify({ ...valid, [name]: value })).toString('base64'))
  const message = fc
    .tuple(fc.nat(valid.message.length), fc.string({ maxLength: 5 }))
    .map(([at, text]) => ({ ...valid, message: valid.message.slice(0, at) + text + valid.message.slice(at + 1) }))
    .filter(changed => changed.message !== valid.message)
    .map(changed => Buffer.from(JSON.stringify(changed)).toString('base64'))
  const json = fc.jsonValue().map(value => Buffer.from(JSON.stringify(value)).toString('base64'))
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), json, mutated, message), async value => {
      // A mutation may change nothing that counts; the nonce is then used up by the first such header.
      const error = await signIn(value).then(
        () => null,
        reason => reason,
      )
      if (error !== null) expect([400, 401]).toContain((error as ServiceError).status)
    }),
    { numRuns: 300 },
  )
})

test('the stock package signs our challenge, in its own structure', async () => {
  const { info } = identity.challenge()
  const account = privateKeyToAccount(generatePrivateKey())
  const asked = { ...info, chainId: 'eip155:8453', type: 'eip191' } as const
  const payload = await createSIWxPayload(asked, account, 'https://api.example:8443/api/v1/models')
  expect(await signIn(encodeSIWxHeader(payload))).toMatchObject({
    kind: 'wallet',
    wallet: account.address.toLowerCase(),
  })
})

test('a challenge can be signed and is accepted', async () => {
  const { info, supportedChains } = identity.challenge()
  expect(supportedChains.map(({ chainId }) => chainId)).toEqual(['eip155:8453', `solana:${solana}`])
  expect(info).toMatchObject({ domain: 'api.example:8443', uri: 'https://api.example:8443', version: '1' })
  expect(identity.challenge().info.nonce).not.toBe(info.nonce)
  const { version: _version, ...signed } = info
  expect(await signIn(await evmWallet().header({ ...signed, chain: '8453' }))).toMatchObject({ kind: 'wallet' })
})
