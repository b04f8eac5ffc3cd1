import { createHmac, hkdfSync } from 'node:crypto'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Web3Tokens } from '#access/keys/web3-keys.ts'
import { microUsd } from '#contract/money.ts'
import { CreatedKey } from '#contract/operations/keys.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { canarySecret } from '../../canary/canaries.ts'
import { type AccountFixture, openOnSqlite, type Processes } from './account-fixture.ts'

const minute = 60_000
const path = '/api_keys/generate_web3_key'

/** Wallets that have staked, at the port. */
const stakers = new Set<string>()
const stakes = {
  stakeOf: async (wallets: readonly string[]) => (wallets.some(each => stakers.has(each)) ? 5_000_000n : 0n),
}

let processes: Processes
let fixture: AccountFixture
beforeAll(async () => {
  processes = await openOnSqlite({ stakes })
  fixture = processes.first
})
afterAll(() => processes.close())
// So that neither the limit of an address nor its block lasts from one test to the next.
beforeEach(() => fixture.clock.pass(2 * minute))

type Wallet = ReturnType<typeof privateKeyToAccount>

async function wallet(has: 'credit' | 'stake' | 'nothing' = 'credit'): Promise<Wallet> {
  const made = privateKeyToAccount(generatePrivateKey())
  const name = made.address.toLowerCase()
  if (has === 'stake') stakers.add(name)
  if (has !== 'credit') return made
  const [atMs, account] = [fixture.clock.now(), walletAccountId(name)]
  const grant = { op: 'credit', account, amount: microUsd(5_000_000), source: 'system:usdc', ref: name, atMs } as const
  await fixture.chats.service.store.commit([{ id: uuidV7(atMs), ops: [...openWalletAccount(name, atMs), grant] }])
  return made
}

async function token(): Promise<string> {
  const answer = await fixture.request('GET', path)
  expect(answer.status).toBe(200)
  const { success, data } = (await answer.json()) as { success: boolean; data: { token: string } }
  expect(success).toBe(true)
  return data.token
}

interface Order {
  token?: string
  address?: string
  signature?: string
  more?: object
}

async function order(by: Wallet, { token: given, more, ...changed }: Order = {}, at = fixture): Promise<Response> {
  const signed = given ?? (await token())
  const signature = await by.signMessage({ message: signed })
  const made = { apiKeyType: 'INFERENCE', description: 'an agent', address: by.address, signature, token: signed }
  return at.request('POST', path, { body: { ...made, ...more, ...changed } })
}

test('a wallet with credit gets a key of its account, with the limits that it asks for', async () => {
  const by = await wallet()
  const more = { apiKeyType: 'ADMIN', consumptionLimit: { usd: 0.001 }, limitPeriod: 'LIFETIME' }
  const answer = await order(by, { more })
  const { data } = CreatedKey.parse(await answer.json())
  expect(data).toMatchObject({ apiKeyType: 'ADMIN', description: 'an agent', limitPeriod: 'LIFETIME' })
  expect((await fixture.chat(data.apiKey)).status).toBe(200)
  const balance = await fixture.request('GET', '/billing/balance', { key: data.apiKey })
  expect(await balance.json()).toMatchObject({ balances: { usd: 4.99968 } })
  const listed = (await (await fixture.request('GET', '/api_keys', { key: data.apiKey })).json()) as { data: unknown[] }
  expect(listed.data).toMatchObject([{ id: data.id, consumptionLimits: { usd: 0.001 } }])
})

test('a wallet that has only staked gets its account with the key', async () => {
  const by = await wallet('stake')
  const { data } = CreatedKey.parse(await (await order(by)).json())
  expect((await fixture.chat(data.apiKey)).status).toBe(200)
  expect((await order(by)).status).toBe(200)
})

test('a token creates one key, even if it is sent again to another process', async () => {
  const by = await wallet()
  const given = await token()
  const statuses = await Promise.all(
    [fixture, processes.second, fixture].map(async at => (await order(by, { token: given }, at)).status),
  )
  expect(statuses.toSorted()).toEqual([200, 400, 400])
  expect(await (await order(by, { token: given })).text()).toContain('was already used')
  expect(await fixture.chats.service.service.keys.kept(walletAccountId(by.address.toLowerCase()))).toHaveLength(1)
})

const secret = canarySecret
const issuer = 'http://127.0.0.1:8402/api/v1'
const foreign = (change: { issuer?: string; secrets?: [string] }) =>
  new Web3Tokens({ issuer, secrets: [secret], ...change }).make(fixture.clock.now())

/** Signed with our key, whatever it says. */
function forged(head: object, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part(head)}.${part(claims)}`
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'farebox web3 key token', 32))
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}

const good = { alg: 'HS256', typ: 'JWT' }

test.each<[error: string, rule: string, change: () => Order | Promise<Order>]>([
  ['Invalid wallet address', 'no address', () => ({ address: 'ada' })],
  ['Invalid wallet address', 'one of Solana', () => ({ address: 'BSmWDgE9ex6dZYbiTsJGcwMEgFp8q4aWh92hdErQPeVW' })],
  ['JWT is malformed', 'one part', () => ({ token: 'token' })],
  ['JWT is malformed', 'parts that are no JSON', () => ({ token: 'a.b.c' })],
  ['JWT is malformed', 'a claim that is none', () => ({ token: `${Buffer.from('{}').toString('base64url')}.W10.c` })],
  ['JWT signature is invalid', "another service's secret", () => ({ token: foreign({ secrets: ['x'.repeat(32)] }) })],
  ['JWT signature is invalid', 'no signature', async () => ({ token: (await token()).replace(/[^.]+$/, 'AAAA') })],
  ['JWT signature is invalid', 'another way to sign', () => ({ token: forged({ alg: 'none' }, {}) })],
  ['JWT claims are invalid', 'another service', () => ({ token: foreign({ issuer: 'https://other.example' }) })],
  [
    'JWT claims are invalid',
    'no end',
    () => ({ token: forged(good, { iss: issuer, aud: 'farebox web3 key', jti: '1' }) }),
  ],
  ['Could not verify wallet signature', 'no signature', () => ({ signature: '0x12' })],
  ['Could not verify wallet signature', 'no point of the curve', () => ({ signature: `0x${'00'.repeat(64)}1b` })],
  ['Wallet signature does not match', "another wallet's address", async () => ({ address: (await wallet()).address })],
])('400 "%s" for %s', async (error, _rule, change) => {
  const answer = await order(await wallet(), await change())
  expect([answer.status, await answer.json()]).toEqual([400, { error }])
})

test('a token ends after fifteen minutes', async () => {
  const by = await wallet()
  const given = await token()
  fixture.clock.pass(15 * minute)
  const answer = await order(by, { token: given })
  expect([answer.status, await answer.json()]).toEqual([400, { error: 'JWT has expired' }])
})

test('a wallet that neither paid nor staked is told what to do, and leaves nothing behind', async () => {
  const by = await wallet('nothing')
  const answer = await order(by)
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('Wallet has no staked tokens')])
  const { read } = fixture.chats.service.store
  const account = walletAccountId(by.address.toLowerCase())
  expect(await read.selectFrom('account').select('id').where('id', '=', account).execute()).toEqual([])
})

test('what a key is for is checked as for any other', async () => {
  const answer = await order(await wallet(), { more: { apiKeyType: 'ROOT' } })
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('INFERENCE, ADMIN')])
})

test('an address makes twenty a minute', async () => {
  const answers: number[] = []
  for (let sent = 0; sent < 21; sent++) answers.push((await order(await wallet())).status)
  expect(answers).toEqual([...Array.from({ length: 20 }, () => 200), 429])
})
