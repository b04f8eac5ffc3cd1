/** Holds that another process ended before their calls ended: after an outage, or a pause longer than a lease. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { AlsoCommitRefused } from '#ledger/charges/charge-order.ts'
import { Funding } from '#ledger/charges/funding.ts'
import type { KeyBudget } from '#ledger/store/account-ops.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Capture } from '#ledger/store/units.ts'
import {
  budget,
  capture,
  hold,
  ledger,
  linesOf,
  mustCommit,
  nonce,
  release,
  revokeKey,
} from '../../ledger/store/sample-ops.ts'
import { type ChargeFixture, openChargeFixture } from './charge-fixture.ts'

let fixture: ChargeFixture
beforeAll(async () => {
  fixture = await openChargeFixture()
})
afterAll(() => fixture.dispose())

/** A call of 30 and 40 under a hold of 100 that is gone, while other calls of its account hold some. */
async function lost({
  credit = 1_000n,
  others = 0n,
  limits = null as KeyBudget | null,
  stake = 0n,
  store = fixture.store as Store,
} = {}) {
  const told: string[] = []
  const principal = stake ? await fixture.wallet(credit, stake) : await fixture.customer(credit, limits)
  const charges = fixture.charges({
    store,
    funding: new Funding({ store: fixture.store, clock: fixture.clock, staking: stake ? fixture.staking : null }),
    onHoldLost: (_, { totalMicroUsd, lostMicroUsd }) => told.push(`lost ${lostMicroUsd} of ${totalMicroUsd}`),
    onWriteOff: (_, amount) => told.push(`written off ${amount}`),
  })
  const charge = await charges.open(fixture.order(principal, 100n))
  charge.meter(() => linesOf([30n, 40n]))
  await mustCommit(fixture.store, release(charge.holdId))
  const other = others ? await charges.open(fixture.order(principal, others)) : null
  const ended = async () => {
    await other?.release()
    return { entries: await fixture.entriesOf(principal.account), held: await fixture.held(principal.account), told }
  }
  return { principal, charges, charge, ended }
}

const whole = { usd: 70n, staking: 0n }

describe.each(['settle', 'capture'] as const)('a call that ends by %s after its hold', how => {
  const end = (charge: Awaited<ReturnType<typeof lost>>['charge'], ...beside: Parameters<typeof charge.settle>) =>
    how === 'settle' ? charge.settle(...beside) : charge.capture(linesOf([30n, 40n]), ...beside)

  test.each([
    ['is charged anew', {}, whole, ['CHARGE 30', 'CHARGE 40'], ['lost 0 of 70']],
    [
      'is charged as far as the credit reaches, and the rest is written off',
      { credit: 150n, others: 100n },
      { usd: 50n, staking: 0n },
      ['WRITE_OFF 20', 'CHARGE 30', 'CHARGE 40'],
      ['written off 20', 'lost 20 of 70'],
    ],
    [
      'is charged as far as the key’s budget reaches',
      { limits: budget(110n), others: 90n },
      { usd: 20n, staking: 0n },
      ['WRITE_OFF 50', 'CHARGE 30', 'CHARGE 40'],
      ['written off 50', 'lost 50 of 70'],
    ],
    [
      'is written off where nothing is left',
      { credit: 100n, others: 100n },
      { usd: 0n, staking: 0n },
      ['WRITE_OFF 70', 'CHARGE 30', 'CHARGE 40'],
      ['written off 70', 'lost 70 of 70'],
    ],
    [
      'takes staking credit first',
      { stake: 60n },
      { usd: 10n, staking: 60n },
      ['STAKING 60', 'CHARGE 30', 'CHARGE 40'],
      ['lost 0 of 70'],
    ],
  ])('%s', async (_rule, world, cost, entries, told) => {
    const { charge, ended } = await lost(world)
    expect(await end(charge)).toMatchObject(cost)
    expect(charge.isLost).toBe(true)
    expect(await ended()).toEqual({ entries, held: [], told })
  })

  test.each([
    ['by itself', {}, {}, { usd: 30n, staking: 0n }, ['CHARGE 30'], 'lost 40 of 70'],
    [
      'and written off in part',
      {},
      { writeOff: microUsd(5) },
      { usd: 25n, staking: 0n },
      ['WRITE_OFF 5', 'CHARGE 30'],
      'lost 45 of 70',
    ],
    [
      'with staking credit, and written off in part',
      { stake: 10n },
      { writeOff: microUsd(5) },
      { usd: 15n, staking: 10n },
      ['WRITE_OFF 5', 'STAKING 10', 'CHARGE 30'],
      'lost 45 of 70',
    ],
  ])('is told what its last checkpoint was charged %s, and charged nothing more', async (...row) => {
    const [, world, terms, cost, entries, told] = row
    const { charges, principal, ended } = await lost(world)
    const charge = await charges.open(fixture.order(principal, 100n))
    charge.meter(() => linesOf([30n, 40n]))
    const { holdId: hold, order } = charge
    await mustCommit(fixture.store, { ...(capture(hold, [30n], order.request) as Capture), ...terms })
    const costs: object[] = []
    const beside = (of: object) => {
      costs.push(of)
      return [nonce(`kept ${hold}`)]
    }
    expect(await end(charge, beside)).toMatchObject({ ...cost, availableMicroUsd: null })
    expect(costs.at(-1)).toEqual(cost)
    expect(await ended()).toEqual({ entries, held: [], told: [told] })
    await expect(mustCommit(fixture.store, nonce(`kept ${hold}`))).rejects.toThrow()
  })

  test('commits what belongs to it, once', async () => {
    const { charge } = await lost()
    await end(charge, () => [nonce(`beside ${charge.holdId}`)])
    await expect(mustCommit(fixture.store, nonce(`beside ${charge.holdId}`))).rejects.toThrow()
  })

  test('takes no place among the calls of a wallet', async () => {
    const { charge, charges, principal } = await lost({ stake: 1n })
    const others = await Promise.all(Array.from({ length: 5 }, () => charges.open(fixture.order(principal, 1n))))
    expect(await end(charge)).toMatchObject({ usd: 70n })
    for (const other of others) await other.release()
  })
})

test('where others have what belongs to the end, only what was delivered is charged', async () => {
  await mustCommit(fixture.store, nonce('of others'))
  const beside = () => [nonce('of others')]
  const delivered = await lost()
  await expect(delivered.charge.settle(beside)).rejects.toThrow(AlsoCommitRefused)
  expect((await delivered.ended()).entries).toEqual(['CHARGE 30', 'CHARGE 40'])
  const whole = await lost()
  await expect(whole.charge.capture(linesOf([30n, 40n]), beside)).rejects.toThrow(AlsoCommitRefused)
  expect(await whole.ended()).toEqual({ entries: [], held: [], told: [] })
})

test.each([
  ['its key was revoked', (keyId: string) => revokeKey(keyId), 401],
  ['the ledger is read-only', () => ledger('read_only'), 503],
])(
  'where %s, an answer that is not out is refused, and what was delivered is lost and told',
  async (_why, op, status) => {
    const [late, delivered] = [await lost(), await lost()]
    for (const { principal } of [late, delivered]) {
      if (principal.kind === 'key') await mustCommit(fixture.store, op(principal.keyId))
    }
    await expect(late.charge.capture(linesOf([30n, 40n]))).rejects.toMatchObject({ status })
    expect(await delivered.charge.settle()).toMatchObject({ usd: 0n })
    expect([await late.ended(), await delivered.ended()]).toEqual([
      { entries: [], held: [], told: [] },
      { entries: [], held: [], told: ['lost 70 of 70'] },
    ])
    await mustCommit(fixture.store, ledger('open'))
  },
)

test('a release of what others have released is no error', async () => {
  const { charge, ended } = await lost()
  expect(await charge.release()).toEqual({ usd: 0n, staking: 0n, availableMicroUsd: null })
  expect(await ended()).toEqual({ entries: [], held: [], told: [] })
})

describe('where other calls take the credit after it was seen', () => {
  /** Other calls take these, one before each attempt. */
  async function raced(...amounts: bigint[]) {
    let [of, attempts] = ['', 0]
    const store: Store = {
      ...fixture.store,
      async commit(units) {
        if (units.some(({ id }) => id.endsWith('/anew'))) {
          const amount = amounts[attempts++]
          if (amount) await mustCommit(fixture.store, hold(`${of} ${attempts}`, amount, of))
        }
        return fixture.store.commit(units)
      },
    }
    const world = await lost({ credit: 100n, store })
    of = world.principal.account
    const entries = () => fixture.entriesOf(of)
    return { ...world, entries, attempts: () => attempts }
  }

  test('it is charged as far as the rest reaches', async () => {
    const { charge, entries, attempts } = await raced(50n)
    expect(await charge.capture(linesOf([30n, 40n]))).toMatchObject({ usd: 50n, availableMicroUsd: 0n })
    expect([await entries(), attempts()]).toEqual([['WRITE_OFF 20', 'CHARGE 30', 'CHARGE 40'], 2])
  })

  test('again and again, an answer that is not out is refused, and what was delivered is lost and told', async () => {
    const late = await raced(40n, 10n, 10n)
    await expect(late.charge.capture(linesOf([30n, 40n]))).rejects.toMatchObject({ name: 'InsufficientCredit' })
    expect([await late.entries(), late.attempts(), (await late.ended()).told]).toEqual([[], 3, []])
    const delivered = await raced(40n, 10n, 10n)
    expect(await delivered.charge.settle()).toMatchObject({ usd: 0n, staking: 0n })
    expect([await delivered.entries(), delivered.attempts()]).toEqual([[], 3])
    expect((await delivered.ended()).told).toEqual(['lost 70 of 70'])
  })
})
