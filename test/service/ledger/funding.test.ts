/** Which credit pays for a call, and the refusal if there is not enough. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { balanceOf, entriesOf } from '#ledger/accounts/balances.ts'
import { budgetLeft, periodStarts } from '#ledger/accounts/keys.ts'
import { StakingCredits } from '#ledger/accounts/staking.ts'
import { Funding, InsufficientCredit, OverBudget, type Spendable, shortage, totalOf } from '#ledger/charges/funding.ts'
import type { BudgetPeriod } from '#ledger/store/account-ops.ts'
import type { Refusal } from '#ledger/store/store.ts'
import { budget, capture, hold, linesOf, mustCommit, refund, topUp } from '../../ledger/store/sample-ops.ts'
import { type ChargeFixture, openChargeFixture } from './charge-fixture.ts'

let fixture: ChargeFixture
let funding: Funding
beforeAll(async () => {
  fixture = await openChargeFixture()
  funding = new Funding({ store: fixture.store, clock: fixture.clock, staking: fixture.staking })
})
afterAll(() => fixture.dispose())

const lease = () => ({ owner: 'this process', untilMs: fixture.clock.now() + 1 })

describe('what a caller can spend', () => {
  test('is the account’s credit that is not on hold; without staking credit, that part is absent', async () => {
    const principal = await fixture.customer(100n)
    await mustCommit(fixture.store, hold(`of ${principal.account}`, 30n, principal.account))
    const plain = new Funding({ store: fixture.store, clock: fixture.clock })
    expect([plain.hasStaking, await plain.spendable(principal)]).toEqual([
      false,
      { usd: 70n, staking: null, within: { usd: 70n, staking: 0n } },
    ])
  })

  test('is its stake’s credit of the day as well', async () => {
    const principal = await fixture.wallet(100n, 50n)
    expect([funding.hasStaking, await funding.spendable(principal)]).toEqual([
      true,
      { usd: 100n, staking: 50n, within: { usd: 100n, staking: 50n } },
    ])
    expect(totalOf(await funding.spendable(principal))).toBe(150n)
  })

  const limits: [rule: string, usd: bigint | null, staking: bigint | null, within: object][] = [
    ['both limits of its key, where they are lower', 60n, 20n, { usd: 60n, staking: 20n }],
    ['what is there, where that is lower', 600n, 200n, { usd: 100n, staking: 50n }],
    ['what is there, where the key has no limit of it', null, null, { usd: 100n, staking: 50n }],
    ['nothing, where the limit is nothing', 0n, 0n, { usd: 0n, staking: 0n }],
  ]
  test.each(limits)('is %s', async (_rule, usd, staking, within) => {
    const principal = await fixture.customer(100n, budget(usd, staking))
    await fixture.link(principal, 50n)
    expect(await funding.spendable(principal)).toEqual({ usd: 100n, staking: 50n, within })
  })

  test('falls with what is held and what was spent, of either', async () => {
    const principal = await fixture.customer(1_000n, budget(300n, 20n))
    await fixture.link(principal, 50n)
    const charges = fixture.charges({ funding })
    const one = await charges.open(fixture.order(principal, 15n))
    expect(await funding.spendable(principal)).toMatchObject({ within: { usd: 300n, staking: 5n } })
    await one.capture([])
    const two = await charges.open(fixture.order(principal, 120n))
    expect(await funding.spendable(principal)).toMatchObject({
      usd: 900n,
      staking: 30n,
      within: { usd: 200n, staking: 0n },
    })
    await two.release()
  })
})

describe('the operations of a hold', () => {
  test('name the key and the periods that it counts in, and set no limit of open ones', async () => {
    const principal = await fixture.customer(100n)
    expect(await funding.holdOps({ hold: 'h', principal, amount: microUsd(5) }, lease())).toEqual([
      {
        ...{ op: 'hold', hold: 'h', account: principal.account, amount: 5n, lease: lease(), staking: null },
        ...{ mostOpen: null, atMs: fixture.clock.now() },
        key: { key: principal.keyId, ...periodStarts(fixture.clock.now()) },
      },
    ])
  })

  test('of a wallet let so many be open at once, and draw on its day', async () => {
    const principal = await fixture.wallet(100n, 50n)
    const dayMs = Date.parse('2026-11-21T00:00:00Z')
    expect(await funding.holdOps({ hold: 'h', principal, amount: microUsd(5) }, lease())).toMatchObject([
      { op: 'hold', key: null, staking: { dayMs, granted: 50n }, mostOpen: 5 },
    ])
  })

  const opened: [rule: string, isNew: boolean, stake: bigint, ops: string[]][] = [
    ['a new wallet whose stake is all that it has gets its account', true, 50n, ['account', 'wallet', 'hold']],
    ['a new wallet without a stake does not', true, 0n, ['hold']],
    ['nor does one that has its account', false, 50n, ['hold']],
  ]
  test.each(opened)('%s', async (_rule, isNew, stake, ops) => {
    const principal = { ...(await fixture.wallet(0n, stake)), isNew }
    const built = await funding.holdOps({ hold: 'h', principal, amount: microUsd(5) }, lease())
    expect(built.map(({ op }) => op)).toEqual(ops)
  })

  test('of a service without staking credit draw on none, and open no account', async () => {
    const principal = { ...(await fixture.wallet(0n, 50n)), isNew: true }
    const plain = new Funding({ store: fixture.store, clock: fixture.clock, staking: null })
    const built = await plain.holdOps({ hold: 'h', principal, amount: microUsd(5) }, lease())
    expect(built).toMatchObject([{ op: 'hold', staking: null }])
  })
})

describe('a hold that was refused is', () => {
  const said: [why: Refusal, error: object][] = [
    ['no_account', { name: 'InsufficientCredit', neededMicroUsd: 200n }],
    ['insufficient_funds', { name: 'InsufficientCredit', neededMicroUsd: 200n }],
    ['over_budget', { name: 'OverBudget', limit: 'usd', neededMicroUsd: 200n }],
    ['no_key', { kind: 'AUTHENTICATION_FAILED' }],
    ['too_many_open', { kind: 'X402_CONCURRENCY_LIMIT' }],
    ['read_only', { kind: 'LEDGER_READ_ONLY' }],
    ['hold_exists', { message: 'The ledger refused hold h: hold_exists.' }],
  ]
  test.each(said)('said as it is: %s', async (why, error) => {
    const principal = await fixture.customer(100n)
    expect(await funding.refusal({ hold: 'h', principal, amount: microUsd(200) }, why)).toMatchObject(error)
  })
})

describe('what is said where', () => {
  const of = (usd: bigint, staking: bigint | null, within: [usd: bigint, staking: bigint]): Spendable => ({
    usd: microUsd(usd),
    staking: staking === null ? null : microUsd(staking),
    within: { usd: microUsd(within[0]), staking: microUsd(within[1]) },
  })
  const credit = new InsufficientCredit(microUsd(100))
  const rows: [rule: string, spendable: Spendable, error: InsufficientCredit | OverBudget][] = [
    ['both together are one too little', of(60n, 39n, [60n, 39n]), credit],
    ['there is one too little, and a limit beside', of(99n, null, [10n, 0n]), credit],
    ['all is there by now, and within the limits', of(60n, 40n, [60n, 40n]), credit],
    ['the limit of USD alone keeps it back', of(100n, null, [99n, 0n]), new OverBudget('usd')],
    ['the limit of staking credit alone keeps it back', of(60n, 40n, [60n, 39n]), new OverBudget('staking')],
    ['more of the staking limit would do', of(90n, 40n, [60n, 0n]), new OverBudget('staking')],
    ['both limits keep it back', of(90n, 40n, [59n, 0n]), new OverBudget('usd')],
  ]
  test.each(rows)('%s', (_rule, spendable, error) => {
    expect(shortage(spendable, microUsd(100))).toEqual(error)
  })
})

describe('a budget’s period', () => {
  const atMs = Date.parse('2026-11-21T09:00:00Z')
  const starts: [period: BudgetPeriod, startMs: number][] = [
    ['epoch', Date.parse('2026-11-21T00:00:00Z')],
    ['month', Date.parse('2026-11-01T00:00:00Z')],
    ['lifetime', 0],
  ]
  test.each(starts)(
    '%s: what was spent and held since its start counts, and nothing before',
    async (period, startMs) => {
      expect(periodStarts(atMs)).toEqual({ epochStartMs: starts[0]?.[1], monthStartMs: starts[1]?.[1] })
      const limit = budget(100n, 40n, period)
      const principal = await fixture.customer(1_000n, limit)
      await fixture.link(principal, 10n)
      const charges = fixture.charges({ funding })
      await (await charges.open(fixture.order(principal, 40n))).capture([
        { sku: 'test', units: 40n, unitPricePicoUsd: 1_000_000n, amount: microUsd(40) },
      ])
      await charges.open(fixture.order(principal, 20n))
      const left = (of: typeof limit, nowMs = atMs) => budgetLeft(fixture.store, principal.keyId, of, nowMs)
      expect(await left(limit)).toEqual({ usd: 50n, staking: 30n })
      expect(await left(budget(50n, 10n, period))).toEqual({ usd: 0n, staking: 0n })
      expect(await left(budget(49n, 9n, period))).toEqual({ usd: 0n, staking: 0n })
      expect(await left(budget(null, null, period))).toEqual({ usd: null, staking: null })
      const before = { usd: 100n, staking: 40n }
      expect(await left(limit, startMs - 1)).toEqual(period === 'lifetime' ? { usd: 50n, staking: 30n } : before)
    },
  )
})

describe('a limit of a key', () => {
  const renewals: [period: BudgetPeriod, at: string, startsAnewAt: string | null][] = [
    ['epoch', '2026-11-21T00:00:00.000Z', '2026-11-22T00:00:00.000Z'],
    ['epoch', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
    ['month', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
    ['month', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
    ['month', '2028-01-31T12:00:00.000Z', '2028-02-01T00:00:00.000Z'],
    ['lifetime', '2026-11-21T00:00:00.000Z', null],
  ]
  test.each(renewals)('of a period %s starts anew, asked at %s, at %s', async (period, at, startsAnewAt) => {
    const clock = { now: () => Date.parse(at) }
    const principal = await fixture.customer(0n, budget(2_500_000n, 1_000_000n, period))
    const asked = new Funding({ store: fixture.store, clock })
    expect([await asked.keyLimit(principal, 'usd'), await asked.keyLimit(principal, 'staking')]).toEqual([
      { currency: 'USD', period, limit: 2.5, left: 2.5, startsAnewAt },
      { currency: 'DIEM', period, limit: 1, left: 1, startsAnewAt },
    ])
  })

  test('is nothing where the key has none, and nothing of a wallet', async () => {
    const limited = await fixture.customer(0n, budget(null, 1n))
    expect(await funding.keyLimit(limited, 'usd')).toBeUndefined()
    expect(await funding.keyLimit(await fixture.customer(0n), 'usd')).toBeUndefined()
    expect(await funding.keyLimit(await fixture.wallet(0n, 5n), 'staking')).toBeUndefined()
  })
})

describe('an account', () => {
  test('that does not exist has nothing', async () => {
    expect(await balanceOf(fixture.store, 'nobody')).toEqual({
      postedMicroUsd: 0n,
      heldMicroUsd: 0n,
      availableMicroUsd: 0n,
    })
  })

  test('has what was posted, what is held of it, and the rest', async () => {
    const { account: id } = await fixture.customer(100n)
    await mustCommit(fixture.store, hold(`held of ${id}`, 30n, id))
    expect(await balanceOf(fixture.store, id)).toEqual({
      postedMicroUsd: 100n,
      heldMicroUsd: 30n,
      availableMicroUsd: 70n,
    })
  })

  test('shows its entries, the newest first, page by page', async () => {
    const { account } = await fixture.customer(100n)
    const request = `request of ${account}`
    await mustCommit(fixture.store, hold(`of ${account}`, 30n, account))
    await mustCommit(fixture.store, capture(`of ${account}`, [7n], request))
    await mustCommit(fixture.store, topUp(5n, `payment of ${account}`, account))
    const entry = { id: expect.any(String), createdAtMs: 1_800_000_000_000, requestId: null, modelId: null }
    const shown = [
      { ...entry, type: 'TOP_UP', amountMicroUsd: 5n, balanceAfterMicroUsd: 98n },
      {
        ...{ ...entry, type: 'CHARGE', amountMicroUsd: -7n, balanceAfterMicroUsd: 93n },
        ...{ requestId: request, modelId: 'demo-chat' },
      },
      { ...entry, type: 'TOP_UP', amountMicroUsd: 100n, balanceAfterMicroUsd: 100n },
    ]
    expect(await entriesOf(fixture.store, account, 10, 0)).toEqual(shown)
    expect(await entriesOf(fixture.store, account, 1, 1)).toEqual(shown.slice(1, 2))
  })

  test('shows what others pay of a charge as money back, and what they get of a refund as a charge', async () => {
    const principal = await fixture.wallet(100n, 10n)
    const charge = await fixture.charges({ funding }).open(fixture.order(principal, 25n))
    await charge.capture(linesOf([30n]))
    await mustCommit(fixture.store, refund(charge.order.request))
    const shown = await entriesOf(fixture.store, principal.account, 10, 0)
    expect(shown.map(({ type, amountMicroUsd }) => [type, amountMicroUsd])).toEqual([
      ['CHARGE', -10n],
      ['REFUND', 25n],
      ['CHARGE', -30n],
      ['REFUND', 10n],
      ['REFUND', 5n],
      ['TOP_UP', 100n],
    ])
  })
})

test('a stake that cannot be read leaves USD to spend', async () => {
  const failures: unknown[] = []
  const reader = { stakeOf: () => Promise.reject(new Error('the chain is away')) }
  const { store, clock } = fixture
  const staking = new StakingCredits({ store, clock, reader, onFailure: error => failures.push(error) })
  const principal = await fixture.wallet(100n, 50n)
  expect(await new Funding({ store, clock, staking }).spendable(principal)).toMatchObject({ usd: 100n, staking: 0n })
  expect(failures).toHaveLength(1)
})
