import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RateLimits } from '#contract/operations/rate-limits.ts'
import { paymentRequired } from '#contract/wire/headers.ts'
import type { StakeReader } from '#ledger/accounts/stake-reader.ts'
import { audit } from '#ledger/audit/audit.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { type ChatFixture, type Customer, eventsOf, openFixture } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'
import { closeSound } from './close-sound.ts'
import { adminToken, TestClock } from './open-service.ts'

const hour = 60 * 60 * 1000
const day = 24 * hour

let clock: TestClock
let fixture: ChatFixture
beforeEach(async () => {
  // A Saturday, nine days before the month ends.
  clock = new TestClock(Date.parse('2026-11-21T22:00:00Z'))
  const stakes: StakeReader = { stakeOf: async () => 1_000_000n }
  fixture = await openFixture({ clock, stakes })
  // 20 tokens of the prompt and 30 of the answer: 320 micro-USD; with `max_tokens` 30 some 650 are held.
  fixture.engine.play([...words('one', ' two'), { usage: used(20, 30) }])
})
afterEach(async () => {
  expect(await fixture.openHolds()).toBe(0)
  const report = await audit(fixture.service.database)
  expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
  await closeSound(fixture.service)
})

const order = async (command: string, body: unknown) => {
  const headers = { authorization: `Bearer ${adminToken}` }
  return fixture.service.request(`/admin/v1/${command}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

interface Keyed extends Customer {
  keyId: string
}

async function keyWith(budget: object | undefined, more: object = {}): Promise<Keyed> {
  const answer = await order('keys', { usd: '1', label: '', ...(budget ? { budget } : {}), ...more })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Keyed
}

const call = (customer: Customer, body: object = { max_tokens: 30 }) => fixture.chat(customer, body)

/** Calls until one is refused; how many were answered. */
async function callsUntilRefused(customer: Customer, most = 20): Promise<number> {
  for (let answered = 0; answered < most; answered++) if ((await call(customer)).status !== 200) return answered
  return most
}

const usdLimit = 'API key USD spend limit exceeded.'
const stakingLimit = 'API key DIEM spend limit exceeded.'

describe('a key with a budget', () => {
  test('spends its limit in each period, and learns which limit it hit', async () => {
    const customer = await keyWith({ period: 'epoch', usd: '0.0015' })
    expect(await callsUntilRefused(customer)).toBe(3)
    const refused = await call(customer)
    const budget = {
      currency: 'USD',
      period: 'epoch',
      limit: 0.0015,
      left: 0.00054,
      startsAnewAt: '2026-11-22T00:00:00.000Z',
    }
    const said =
      '0.00054 of its budget of 0.0015 USD per UTC day is left; it resets at 2026-11-22T00:00:00.000Z. This call needs 0.00\\d+.'
    const body = { error: expect.stringMatching(new RegExp(`^${usdLimit} .+ ${said}$`)), budget }
    expect([refused.status, await refused.json()]).toEqual([402, body])
    expect(paymentRequired.parse(refused.headers.get('payment-required') ?? '')?.accepts).toEqual([])
    expect((await fixture.ledger(customer.account)).charged).toBe(960n)
  })

  test('another key of the same account is not held back by it', async () => {
    const customer = await keyWith({ period: 'epoch', usd: '0' })
    expect((await call(customer)).status).toBe(402)
    const other = await keyWith(undefined, { usd: '0', account: customer.account })
    expect((await call(other)).status).toBe(200)
  })

  test('an account with too little credit gets that error, and not one about a limit', async () => {
    const customer = await keyWith({ period: 'epoch', usd: '5' }, { usd: '0.0003' })
    const refused = await call(customer)
    expect([refused.status, await refused.json()]).toEqual([402, { error: expect.stringContaining('Insufficient') }])
  })

  const periods: [period: string, passed: [ms: number, anew: boolean][]][] = [
    [
      'epoch',
      [
        [hour, false],
        [hour + 1, true],
      ],
    ],
    [
      'month',
      [
        [day, false],
        [8 * day, false],
        [day, true],
      ],
    ],
    [
      'lifetime',
      [
        [day, false],
        [400 * day, false],
      ],
    ],
  ]
  test.each(periods)('a limit by the %s starts again with its UTC period', async (period, passed) => {
    const customer = await keyWith({ period, usd: '0.0015' })
    expect(await callsUntilRefused(customer)).toBe(3)
    for (const [ms, anew] of passed) {
      clock.pass(ms)
      expect([ms, await callsUntilRefused(customer)]).toEqual([ms, anew ? 3 : 0])
    }
  })

  test('many calls at once spend no more than it', async () => {
    const customer = await keyWith({ period: 'month', usd: '0.0015' })
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => call(customer)))).map(({ status }) => status)
    expect(statuses.filter(status => status === 200).length).toBeGreaterThan(0)
    expect((await fixture.ledger(customer.account)).charged).toBeLessThanOrEqual(1_500n)
  })

  test('without a maximum a call goes by what the key may still spend, not by what the account has', async () => {
    const customer = await keyWith({ period: 'epoch', usd: '0.01' })
    await (await call(customer, { stream: true })).text()
    expect(fixture.engine.calls[0]?.maxCompletionTokens).toBeLessThan(1_000)
  })

  test('a stream that meets it while it runs ends, and says so', async () => {
    const many = words(...Array.from({ length: 3_000 }, () => ' word'))
    fixture.engine.play([...many, 'silence'])
    const customer = await keyWith({ period: 'epoch', usd: '0.02' })
    const answer = await call(customer, { stream: true })
    await order('keys/budget', { key: customer.keyId, budget: { period: 'epoch', usd: '0.006' } })
    const events = eventsOf(await answer.text())
    expect(JSON.parse(events.at(-2) ?? '').error).toMatchObject({
      message: expect.stringContaining(usdLimit),
      code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED',
    })
    expect((await fixture.ledger(customer.account)).charged).toBeLessThanOrEqual(6_000n)
  })

  test('a refund gives its period back what it spent', async () => {
    const customer = await keyWith({ period: 'lifetime', usd: '0.0009' })
    expect(await callsUntilRefused(customer)).toBe(1)
    const { store } = fixture.service
    const { request } = await store.read
      .selectFrom('entry')
      .select('request')
      .where('kind', '=', 'CHARGE')
      .executeTakeFirstOrThrow()
    await commit({ op: 'refund', request: request ?? '', reason: 'By hand.', atMs: clock.now() })
    expect(await callsUntilRefused(customer)).toBe(1)
  })

  test('it is changed and taken away while the key is in use', async () => {
    const customer = await keyWith({ period: 'lifetime', usd: '0.0009' })
    expect(await callsUntilRefused(customer)).toBe(1)
    expect(
      (await order('keys/budget', { key: customer.keyId, budget: { period: 'lifetime', usd: '0.0012' } })).status,
    ).toBe(200)
    expect(await callsUntilRefused(customer)).toBe(1)
    expect((await order('keys/budget', { key: customer.keyId, budget: null })).status).toBe(200)
    expect(await callsUntilRefused(customer, 3)).toBe(3)
  })

  test.each([
    ['nothing', '0', { accessPermitted: false, balances: { USD: 0 } }],
    ['less than its account has', '0.25', { accessPermitted: true, balances: { USD: 0.25 } }],
    ['more than its account has', '7', { accessPermitted: true, balances: { USD: 1 } }],
  ])('shows the smaller of its budget and its account’s balance: %s', async (_which, usd, shown) => {
    const customer = await keyWith({ period: 'epoch', usd })
    const headers = { authorization: `Bearer ${customer.key}` }
    const answer = await fixture.service.request('/api/v1/api_keys/rate_limits', { headers })
    expect(RateLimits.parse(await answer.json()).data).toMatchObject(shown)
  })
})

describe('a limit of staking credit', () => {
  /** The account has a wallet with a stake of one token. */
  async function staking(budget: object, more: object = {}): Promise<Keyed> {
    const customer = await keyWith(budget, more)
    const wallet = `0x${customer.keyId.replaceAll('-', '').padEnd(40, '0')}`
    await commit({ op: 'wallet', wallet, account: customer.account, atMs: clock.now() })
    return customer
  }

  test('keeps the key from the rest of it, and USD pays', async () => {
    const customer = await staking({ period: 'epoch', staking: '0.0001' })
    expect(((await (await call(customer)).json()) as { cost: unknown }).cost).toEqual({ usd: 0.00022, diem: 0.0001 })
    expect(((await (await call(customer)).json()) as { cost: unknown }).cost).toEqual({ usd: 0.00032, diem: 0 })
  })

  test('is named where the account’s staking credit would have covered the call', async () => {
    const customer = await staking({ period: 'epoch', staking: '0.0001' }, { usd: '0' })
    const refused = await call(customer)
    const left = { currency: 'DIEM', period: 'epoch', limit: 0.0001, left: 0.0001 }
    expect([refused.status, await refused.json()]).toMatchObject([
      402,
      { error: expect.stringContaining(stakingLimit), budget: left },
    ])
  })

  test('and the limit of USD is, where it is that one', async () => {
    const customer = await staking({ period: 'epoch', usd: '0', staking: '0.0001' })
    const refused = await call(customer)
    expect([refused.status, await refused.json()]).toMatchObject([
      402,
      { error: expect.stringContaining('spend limit exceeded'), budget: { period: 'epoch' } },
    ])
  })
})

test.each([
  ['an unknown period', { period: 'week', usd: '1' }],
  ['no period', { usd: '1' }],
  ['a negative limit', { period: 'epoch', usd: '-1' }],
  ['a limit that is not an amount', { period: 'epoch', usd: '1e3' }],
  ['more than a column holds', { period: 'epoch', usd: '9999999999' }],
  ['another member', { period: 'epoch', usd: '1', vcu: '1' }],
])('%s is a 400, and no key is made', async (_what, budget) => {
  expect((await order('keys', { usd: '1', label: '', budget })).status).toBe(400)
  expect(await fixture.service.store.read.selectFrom('api_key').selectAll().execute()).toEqual([])
})

test('the budget of an unknown key is a 400', async () => {
  expect((await order('keys/budget', { key: 'nobody', budget: null })).status).toBe(400)
})

async function commit(op: Op): Promise<void> {
  const [outcome] = await fixture.service.store.commit([{ id: uuidV7(clock.now()), ops: [op] }])
  expect(outcome?.ok).toBe(true)
}
