import fc from 'fast-check'
import { expect } from 'vitest'
import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7Floor } from '#ledger/store/uuid-v7.ts'
import { LedgerModel } from './ledger-model.ts'
import {
  account,
  budget,
  by,
  capture,
  dayMs,
  extend,
  grant,
  type HoldTerms,
  hold,
  key,
  keyBudget,
  lease,
  nonce,
  nowMs,
  refund,
  release,
  renew,
  staked,
} from './sample-ops.ts'

/** Few names, so that units meet each other. */
const oneOf = (prefix: string, count: number) => fc.nat(count - 1).map(index => `${prefix}${index}`)
const accounts = oneOf('account', 2)
const holds = oneOf('hold', 6)
const requests = oneOf('request', 3)
const amounts = fc.bigInt({ min: 0n, max: 40n })

const keys = oneOf('key', 3)
const limit = fc.option(amounts)
const budgets = fc.option(
  fc
    .tuple(limit, limit, fc.constantFrom('epoch' as const, 'month' as const, 'lifetime' as const))
    .map(([usd, staking, period]) => budget(usd, staking, period)),
)

/** What a hold says beside its amount: a key, a day, a number of slots, each or none. */
const terms = fc
  .tuple(fc.option(fc.tuple(keys, fc.nat(1))), fc.option(fc.tuple(amounts, fc.nat(1))), fc.option(fc.nat(4)))
  .map(
    ([caller, day, mostOpen]) =>
      (run: string): HoldTerms => ({
        ...(caller ? by(run + caller[0], caller[1] * dayMs) : {}),
        ...(day ? staked(...day) : {}),
        mostOpen,
      }),
  )

const lessThanAll = (loss: bigint, lines: readonly bigint[]): bigint => {
  const all = lines.reduce((sum, line) => sum + line, 0n)
  return loss < all ? loss : all
}

const ops: fc.Arbitrary<(run: string) => Op> = fc.oneof(
  { weight: 3, arbitrary: accounts.map(id => (run: string) => account(run + id)) },
  {
    weight: 4,
    arbitrary: fc.tuple(accounts, fc.bigInt({ min: 1n, max: 60n }), oneOf('ref', 8)).map(
      ([id, amount, ref]) =>
        (run: string) =>
          grant(amount, run + ref, run + id),
    ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(holds, amounts, accounts, fc.nat(9), terms).map(
      ([id, amount, of, until, told]) =>
        (run: string) =>
          hold(run + id, amount, run + of, lease(until), told(run)),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(holds, amounts).map(
      ([id, amount]) =>
        (run: string) =>
          extend(run + id, amount),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(holds, oneOf('owner', 2)).map(
      ([id, owner]) =>
        (run: string) =>
          renew(run + id, lease(9, owner === 'owner0' ? 'one' : 'two')),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(holds, fc.array(amounts, { maxLength: 3 }), requests, amounts).map(
      ([id, lines, request, loss]) =>
        (run: string) =>
          capture(run + id, lines, run + request, { writeOff: lessThanAll(loss, lines) }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(holds, fc.option(fc.nat(12))).map(
      ([id, expired]) =>
        (run: string) =>
          release(run + id, expired ?? undefined),
    ),
  },
  { weight: 3, arbitrary: requests.map(request => (run: string) => refund(run + request)) },
  {
    weight: 2,
    arbitrary: fc.tuple(keys, accounts, budgets).map(
      ([id, of, to]) =>
        (run: string) =>
          key(run + id, `hash of ${run + id}`, run + of, to),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(keys, budgets).map(
      ([id, to]) =>
        (run: string) =>
          keyBudget(run + id, to),
    ),
  },
  { weight: 1, arbitrary: oneOf('nonce', 3).map(id => (run: string) => nonce(run + id)) },
)

const units = fc.record({ id: fc.nat(60), ops: fc.array(ops, { minLength: 1, maxLength: 4 }) })
const batches = fc.array(fc.array(units, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 12 })

/** Answers and rows are those of the model, whatever comes in whatever grouping. Each run has names of its own. */
export async function sameAsModel(store: Store): Promise<void> {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(batches, async planned => {
      const run = `run${runs++}/`
      const model = new LedgerModel()
      const sent = [[beginning(run)], ...planned.map(batch => batch.map(one => toUnit(one, run)))]
      const answers = await Promise.all(sent.map(batch => store.commit(batch)))
      expect(answers).toEqual(sent.map(batch => batch.map(one => model.commit(one))))
      const rows = rowsOfModel(model)
      expect(await rowsOf(store, run)).toEqual(rows)
      // An account that no money has touched yet is not known.
      for (const { id, posted, held } of rows.accounts)
        expect(store.balances?.get(id) ?? { posted, held }).toMatchObject({ posted, held })
    }),
    { numRuns: 250 },
  )
}

/** Enough credit and one key with a budget, so that most runs get as far as charges and refunds. */
const beginning = (run: string): Unit => ({
  id: `${uuidV7Floor(nowMs)}/${run}beginning`,
  ops: [
    account(`${run}account0`),
    grant(100n, `${run}start`, `${run}account0`),
    key(`${run}key0`, `hash of ${run}key0`, `${run}account0`, budget(60n, 20n)),
  ],
})

const toUnit = (planned: { id: number; ops: ((run: string) => Op)[] }, run: string): Unit => ({
  id: `${uuidV7Floor(nowMs)}/${run}${planned.id}`,
  ops: planned.ops.map(op => op(run)),
})

async function rowsOf(store: Store, run: string) {
  const accounts = store.read.selectFrom('account').select(['id', 'posted', 'held'])
  const holds = store.read.selectFrom('hold').select(['id', 'account', 'amount', 'staking_usd', 'lease_until_ms'])
  const days = store.read.selectFrom('staking_credit').selectAll().where('account', 'like', `${run}%`)
  const uses = store.read.selectFrom('key_use').selectAll().where('key', 'like', `${run}%`)
  return {
    accounts: await accounts.where('id', 'like', `${run}%`).orderBy('id').execute(),
    holds: await holds.where('id', 'like', `${run}%`).orderBy('id').execute(),
    days: (await days.execute())
      .map(row => [`${row.account} ${row.day_ms}`, row.granted_usd, row.spent_usd + row.held_usd])
      .sort(),
    uses: (await uses.execute())
      .map(row => [
        `${row.key} ${row.period} ${row.start_ms}`,
        row.spent_usd + row.held_usd,
        row.spent_staking_usd + row.held_staking_usd,
      ])
      .sort(),
  }
}

function rowsOfModel({ ledger }: LedgerModel) {
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)
  const holds = [...ledger.holds].map(([id, { account, usd, staking, untilMs }]) => {
    return { id, account, amount: usd + staking, staking_usd: staking, lease_until_ms: untilMs }
  })
  return {
    accounts: [...ledger.accounts].map(([id, balance]) => ({ id, ...balance })).sort(byId),
    holds: holds.sort(byId),
    days: [...ledger.days].map(([name, { granted, used }]) => [name, granted, used]).sort(),
    uses: [...ledger.uses].map(([name, { usd, staking }]) => [name, usd, staking]).sort(),
  }
}
