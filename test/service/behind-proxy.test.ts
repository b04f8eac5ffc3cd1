import { randomBytes } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import { TopUps } from '#payments/top-ups/top-up.ts'
import { adminToken, type OpenedService, openService, TestClock, testOption } from './open-service.ts'

/** All callers reach the service through one proxy, on the same machine. */

const metricsToken = 'the token of the figures'

let service: OpenedService
afterEach(() => service.close())

const from = (address: string) => ({ 'x-forwarded-for': address })
const [mallory, ada, bob] = ['203.0.113.66', '203.0.113.7', '203.0.113.8']

const open = (trustedProxies = ['127.0.0.1']) => openService({ settings: { trustedProxies }, metricsToken })

/** 22 failures, of which the last ones are those of the block. */
async function fail(headers: Record<string, string>) {
  for (let sent = 0; sent < 22; sent++) await service.request('/api/v1/chat/completions', { method: 'POST', headers })
}

test('§7.3 one client’s failures block that client alone', async () => {
  service = await open()
  await fail(from(mallory))
  const models = async (address: string) => (await service.request('/api/v1/models', { headers: from(address) })).status
  expect([await models(mallory), await models(ada)]).toEqual([429, 200])
})

test('a header from an untrusted proxy does not lift the block', async () => {
  service = await open([])
  await fail({})
  expect((await service.request('/api/v1/models', { headers: from(ada) })).status).toBe(429)
})

test.each<[what: string, path: string, init: RequestInit]>([
  ['liveness', '/healthz', {}],
  ['readiness', '/readyz', {}],
  ['figures', '/metrics', { headers: { authorization: `Bearer ${metricsToken}` } }],
  [
    'an operator’s command',
    '/admin/v1/ledger',
    { method: 'POST', body: '{}', headers: { authorization: `Bearer ${adminToken}` } },
  ],
])('a block of the shared address keeps %s in', async (_what, path, init) => {
  service = await open([])
  await fail({})
  expect((await service.request('/api/v1/models')).status).toBe(429)
  expect((await service.request(path, init)).status).toBe(200)
})

test('an operator’s mistyped request blocks no caller', async () => {
  service = await open([])
  const headers = { authorization: `Bearer ${adminToken}` }
  for (let sent = 0; sent < 22; sent++)
    expect((await service.request('/admin/v1/keys', { method: 'POST', body: '{}', headers })).status).toBe(400)
  expect((await service.request('/api/v1/models')).status).toBe(200)
})

test('an operator’s command does not come through a proxy', async () => {
  service = await open()
  const headers = { authorization: `Bearer ${adminToken}`, ...from('127.0.0.1') }
  expect((await service.request('/admin/v1/ledger', { method: 'POST', body: '{}', headers })).status).toBe(403)
})

const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`
const payer = hex(20)

/** Signed at the port of the facilitator: payers other than `payer` have nothing. */
const facilitator: Facilitator<EvmPayment> = {
  verify: async payment =>
    payment.authorization.from === payer ? { valid: true } : { valid: false, reason: 'insufficient_funds' },
  settle: async () => ({ state: 'settled', transaction: '0xfeed' }),
  supported: () => [testOption.network],
  problem: async () => null,
}

async function openPaid(settings: object = {}) {
  const clock = new TestClock()
  service = await openService({
    clock,
    settings,
    payments: store =>
      new TopUps({
        settings: { publicUrl: 'http://127.0.0.1:8402', paymentOptions: [testOption] },
        store,
        clock,
        log: { info() {}, warn() {}, error() {} },
        facilitator,
        chain: { find: async () => ({ state: 'landed', transaction: hex(32), amount: microUsd(5_000_000) }) },
        owner: 'test',
      }),
  })
  const topUp = (headers: Record<string, string>) => service.request('/api/v1/x402/top-up', { method: 'POST', headers })
  const payment = (by: string) => {
    const seconds = Math.floor(clock.now() / 1000)
    const authorization = {
      ...{ from: by, to: testOption.payTo.toLowerCase(), value: '5000000' },
      ...{ validAfter: '0', validBefore: `${seconds + 200}`, nonce: hex(32) },
    }
    const value = {
      x402Version: 2,
      accepted: testOption,
      payload: { signature: `0x${'11'.repeat(64)}1b`, authorization },
    }
    return { 'payment-signature': Buffer.from(JSON.stringify(value)).toString('base64') }
  }
  return { topUp, payment, clock }
}

const statusOf = async (answer: Promise<Response>) => (await answer).status

test('ten junk payments from an address stop no payment that was verified', async () => {
  const { topUp, payment } = await openPaid()
  for (let sent = 0; sent < 10; sent++) expect(await statusOf(topUp(payment(hex(20))))).toBe(400)
  expect(await statusOf(topUp(payment(hex(20))))).toBe(429)
  expect(await statusOf(topUp({ 'payment-signature': 'junk' }))).toBe(429)
  expect(await statusOf(topUp(payment(payer)))).toBe(200)
})

test('offers do not use up the limit of their payments, and have one of their own', async () => {
  const { topUp, payment } = await openPaid()
  for (let sent = 0; sent < 10; sent++) expect(await statusOf(topUp({}))).toBe(402)
  expect(await statusOf(topUp({}))).toBe(429)
  expect(await statusOf(topUp(payment(hex(20))))).toBe(400)
  expect(await statusOf(topUp(payment(payer)))).toBe(200)
})

test('a payer has ten payments a minute, from any address, and repeats for free', async () => {
  const { topUp, payment, clock } = await openPaid({ trustedProxies: ['127.0.0.1'] })
  const first = payment(payer)
  for (let sent = 0; sent < 12; sent++) expect(await statusOf(topUp({ ...first, ...from(ada) }))).toBe(200)
  for (let sent = 0; sent < 9; sent++) expect(await statusOf(topUp({ ...payment(payer), ...from(bob) }))).toBe(200)
  const eleventh = payment(payer)
  const refused = await topUp({ ...eleventh, ...from(bob) })
  expect([refused.status, refused.headers.get('x-ratelimit-remaining-requests')]).toEqual([429, '0'])
  clock.pass(60_000)
  expect(await statusOf(topUp({ ...eleventh, ...from(bob) }))).toBe(200)
})
