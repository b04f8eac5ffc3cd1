/** Attacks on a top-up that the service answers by itself or with its facilitator, each with its answer. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newAccount, startTestChain, type TestChain } from './test-chain.ts'
import { creditOf, encode, type Loose, openWorld, send, sign, signAs, type World } from './top-up-world.ts'

let chain: TestChain
let world: World
let account: ReturnType<typeof newAccount>
let signed: Loose
beforeAll(async () => {
  chain = await startTestChain()
  world = await openWorld(chain)
  account = newAccount()
  await chain.mint(account.address, 50_000_000_000n)
  signed = await sign(account, world.option)
})
afterAll(async () => {
  await world.dispose()
  await chain.stop()
})

type Change = (payment: Loose) => unknown

/** Changes a signed payment after it was signed. */
const change = (mutate: Change) => async () => {
  const payment = structuredClone(signed)
  return mutate(payment) ?? payment
}
const authorize = (fields: object) => change(payment => void Object.assign(payment.payload.authorization, fields))
const accept = (fields: object) => change(payment => void Object.assign(payment.accepted, fields))
const amount = (value: unknown) =>
  change(payment => {
    payment.accepted.amount = payment.payload.authorization.value = value
  })

const signature = (write: (written: string) => string) =>
  change(({ payload }) => {
    payload.signature = write(payload.signature)
  })

/** Signs other terms than were offered, as the stock client would for a false offer, and calls them the offer's. */
const signFor = (terms: object) => async () => {
  const payment = await sign(account, { ...world.option, ...terms })
  return { ...payment, accepted: { ...world.option, amount: payment.accepted.amount } }
}

const signAmount = (value: string) => () => sign(account, { ...world.option, amount: value })

const stranger = '0x00000000000000000000000000000000000000aa'
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The same signature with the other `s` that the curve allows. */
const highS: Change = payment => {
  const { signature } = payment.payload
  const s = order - BigInt(`0x${signature.slice(66, 130)}`)
  const recovery = signature.endsWith('1b') ? '1c' : '1b'
  payment.payload.signature = `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${recovery}`
}

const seconds = () => Math.floor(Date.now() / 1000)
const permit2 = { from: stranger, permitted: {}, spender: stranger, nonce: '1', deadline: '1', witness: {} }

type Attack = [rule: string, attack: string, payment: () => Promise<unknown>, reason: string]

const attacks: Attack[] = [
  ['8', 'an amount below the minimum', signAmount('4999999'), 'amount_too_low'],
  ['8', 'an amount of zero', signAmount('0'), 'amount_too_low'],
  ['8', 'an amount above the maximum', signAmount('10000000001'), 'amount_too_high'],
  ['9', 'a signed value above what was accepted', accept({ amount: '5000001' }), 'amount_mismatch'],
  [
    '9',
    'a signed value below what was accepted',
    async () => ({ ...(await sign(account, { ...world.option, amount: '5000001' })), accepted: world.option }),
    'amount_mismatch',
  ],
  ['10', 'another payee accepted', accept({ payTo: stranger }), 'wrong_recipient'],
  ['10', 'another token accepted', accept({ asset: stranger }), 'wrong_asset'],
  ['10', 'another network accepted', accept({ network: 'eip155:84532' }), 'unsupported_network'],
  ['10', 'a network named like a member of every object', accept({ network: 'constructor' }), 'unsupported_network'],
  ['10', 'a rail that is not offered', accept({ network: 'solana' }), 'unsupported_network'],
  ['10', 'another scheme accepted', accept({ scheme: 'upto' }), 'unsupported_scheme'],
  ['11', 'signed for another payee', signFor({ payTo: stranger }), 'wrong_recipient'],
  ['11', 'signed for another token', signFor({ asset: stranger }), 'invalid_signature'],
  [
    '11',
    'signed under another name of the token, as on the public chain',
    signFor({ extra: { name: 'USD Coin', version: '2' } }),
    'invalid_signature',
  ],
  ['11', 'another payer than the signer', authorize({ from: stranger }), 'invalid_signature'],
  ['11', 'a nonce that was not signed', authorize({ nonce: `0x${'11'.repeat(32)}` }), 'invalid_signature'],
  ['12', 'a payment that has expired', () => signAs(account, world.option, { validBefore: '1' }), 'expired'],
  ['12', 'a payment that has expired and was never signed', authorize({ validBefore: '1' }), 'invalid_signature'],
  [
    '12',
    'a payment with five seconds left',
    () => signAs(account, world.option, { validBefore: `${seconds() + 5}` }),
    'expired',
  ],
  ['12', 'a payment that is valid tomorrow', authorize({ validAfter: `${seconds() + 86_400}` }), 'not_yet_valid'],
  [
    '12',
    'a payment that is valid for ten years',
    () => sign(account, { ...world.option, maxTimeoutSeconds: 315_360_000 }),
    'validity_too_long',
  ],
  ['12', 'a payment that is valid for ever', authorize({ validBefore: `${2n ** 256n - 1n}` }), 'validity_too_long'],
  ['13', 'a negative amount', amount('-5000000'), 'amount_not_decimal'],
  ['13', 'a hexadecimal amount', amount('0x4c4b40'), 'amount_not_decimal'],
  ['13', 'an amount of 2^256', amount((2n ** 256n).toString()), 'amount_not_decimal'],
  ['13', 'an amount with an exponent', amount('5e6'), 'amount_not_decimal'],
  ['13', 'an amount with spaces', amount(' 5000000 '), 'amount_not_decimal'],
  ['13', 'an amount with a fraction', amount('5000000.0'), 'amount_not_decimal'],
  ['13', 'an empty amount', amount(''), 'amount_not_decimal'],
  ['13', 'an amount as a JSON number', amount(5_000_000), 'payload_members'],
  ['13', 'an accepted amount alone that is no number', accept({ amount: 'five' }), 'amount_not_decimal'],
  [
    '14',
    'a permit2 payload',
    async () => ({ ...signed, payload: { signature: signed.payload.signature, permit2Authorization: permit2 } }),
    'payload_members',
  ],
  [
    '14',
    'a permit2 payload beside the authorization',
    async () => ({ ...signed, payload: { ...signed.payload, permit2Authorization: permit2 } }),
    'payload_members',
  ],
  ['X2', 'one member too many in the authorization', authorize({ extra: '1' }), 'payload_members'],
  ['X2', 'the second form of the same signature', change(highS), 'invalid_signature'],
  ['X2', 'a signature of 64 bytes', signature(written => written.slice(0, 130)), 'invalid_signature'],
  [
    'X15',
    'a signature wrapped for a wallet that is not deployed',
    signature(written => `${written}${'00'.repeat(64)}${'6492'.repeat(16)}`),
    'undeployed_wallet',
  ],
  [
    'X15',
    'a signature of a contract wallet, none being taken',
    signature(written => written.repeat(3).replaceAll('0x', '').replace(/^/, '0x')),
    'invalid_signature',
  ],
  [
    'X15',
    'a signature that is longer than any wallet writes',
    signature(written => `${written}${'00'.repeat(2_000)}`),
    'invalid_signature',
  ],
  ['X15', 'a signature of half a byte', signature(written => `${written}0`), 'invalid_signature'],
  ['X15', 'a signature that is no point of the curve', signature(() => `0x${'00'.repeat(64)}1b`), 'invalid_signature'],
  ['16', 'a payer without the token', () => sign(newAccount(), world.option), 'insufficient_funds'],
  ['29', 'version 1', async () => ({ ...signed, x402Version: 1 }), 'wrong_version'],
  ['29', 'no version', change(payment => void delete payment.x402Version), 'wrong_version'],
  [
    '29',
    'the flat payload of version 1',
    async () => ({ x402Version: 1, scheme: 'exact', network: 'base', payload: signed.payload }),
    'wrong_version',
  ],
  ['29', 'no base64', async () => 'not base64!', 'not_base64'],
  ['29', 'base64 of no JSON', async () => Buffer.from('{').toString('base64'), 'not_json'],
  ['29', 'a list', async () => [], 'not_json'],
  ['29', 'null', async () => 'bnVsbA==', 'not_json'],
  ['29', 'a text', async () => encode('payment'), 'not_json'],
  ['29', 'no payload', change(payment => void delete payment.payload), 'payload_members'],
  ['29', 'an accepted that is null', async () => ({ ...signed, accepted: null }), 'payload_members'],
  ['29', 'a list for a payload', async () => ({ ...signed, payload: [] }), 'payload_members'],
  ['29', 'no nonce', change(payment => void delete payment.payload.authorization.nonce), 'payload_members'],
  ['29', 'a nonce of 31 bytes', authorize({ nonce: `0x${'11'.repeat(31)}` }), 'payload_members'],
  ['29', 'an address with a bad letter', authorize({ from: `0x${'g'.repeat(40)}` }), 'payload_members'],
  ['29', 'a time that is no number', authorize({ validBefore: 'soon' }), 'payload_members'],
  [
    'X13',
    'two payments that differ in one header',
    async () => `${encode(signed)}, ${encode({})}`,
    'conflicting_headers',
  ],
  [
    'X14',
    'a member twice',
    async () => Buffer.from(JSON.stringify(signed).replace('{', '{"x402Version":2,')).toString('base64'),
    'not_json',
  ],
  [
    'X14',
    'a member named __proto__',
    async () =>
      Buffer.from(JSON.stringify(signed).replace('"x402Version":2', '"__proto__":{"x402Version":2}')).toString(
        'base64',
      ),
    'wrong_version',
  ],
  ['X14', 'a thousand brackets', async () => Buffer.from('['.repeat(1_000)).toString('base64'), 'not_json'],
  ['X14', 'a header of 9 KB', async () => encode({ ...signed, padding: 'a'.repeat(9_000) }), 'too_long'],
]

test.each(attacks)('%s: %s', async (_rule, _attack, payment, reason) => {
  const answer = await send(world.topUps, await payment())
  expect([answer.status, answer.body.error, answer.body.details?.reason]).toEqual([400, 'X402_INVALID_PAYMENT', reason])
  expect(answer.body.message).toMatch(/\. .*\.$/)
})

test('none of them moved or credited anything, nor left a row', async () => {
  expect(await chain.transfersTo(world.option.payTo)).toEqual([])
  expect(await creditOf(world, account.address)).toBe(0n)
  expect(await world.opened.store.read.selectFrom('payment').select('id').execute()).toEqual([])
})

const harmless: [rule: string, what: string, payment: () => Promise<unknown>, name?: string][] = [
  [
    '15',
    'another name and version in what the client says it accepted',
    accept({ extra: { name: 'Other', version: '9' } }),
  ],
  [
    'X12',
    'members that name another wallet',
    change(payment => ({ ...payment, walletAddress: stranger, payer: stranger })),
  ],
  [
    'X2',
    'addresses and nonce in capitals',
    change(payment => {
      const { from, to, nonce } = payment.payload.authorization
      const upper = (hex: string) => `0x${hex.slice(2).toUpperCase()}`
      Object.assign(payment.payload.authorization, { from: upper(from), to: upper(to), nonce: upper(nonce) })
      payment.payload.signature = upper(payment.payload.signature)
    }),
  ],
  ['X2', 'leading zeros in the amount', amount('005000000')],
  [
    'X2',
    'a recovery bit of 0 or 1',
    change(payment => {
      const { signature } = payment.payload
      payment.payload.signature = `${signature.slice(0, 130)}${signature.endsWith('1b') ? '00' : '01'}`
    }),
  ],
  [
    'X2',
    'members in another order, with spaces',
    change(payment =>
      Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(payment).reverse()), null, 2)).toString('base64'),
    ),
  ],
  [
    'X2',
    'URL-safe base64 without padding',
    change(payment => Buffer.from(JSON.stringify(payment)).toString('base64url')),
  ],
  ['X13', 'the same header twice', change(payment => `${encode(payment)}, ${encode(payment)}`)],
  ['§2.3', 'the older name X-402-Payment', change(() => undefined), 'X-402-Payment'],
  ['§2.3', 'the older name X-PAYMENT', change(() => undefined), 'X-PAYMENT'],
]

test('the same payment in every other spelling is the same payment: one credit, one answer', async () => {
  const first = await send(world.topUps, signed)
  expect(first.status).toBe(200)
  for (const [rule, what, payment, name] of harmless) {
    expect((await send(world.topUps, await payment(), name)).text, `${rule}: ${what}`).toBe(first.text)
  }
  expect(await chain.transfersTo(world.option.payTo)).toHaveLength(1)
  expect(await creditOf(world, account.address)).toBe(5_000_000n)
})

test.each(harmless)('%s: %s is taken when it comes first', async (_rule, _what, spelling, name) => {
  const before = await creditOf(world, account.address)
  signed = await sign(account, world.option)
  const answer = await send(world.topUps, await spelling(), name)
  expect([answer.status, answer.body.data?.walletAddress]).toEqual([200, account.address.toLowerCase()])
  expect(await creditOf(world, account.address)).toBe(before + 5_000_000n)
})
