/** The same random units on both stores: every answer and every row has to be the same. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FoldingStore, PruneSlice, Store } from '#ledger/store/store.ts'
import type { Tables } from '#ledger/store/tables.ts'
import { uuidV7Floor } from '#ledger/store/uuid-v7.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { type Seen, UnitSource } from './differential-units.ts'
import { nowMs } from './sample-ops.ts'
import { openTemporaryStore } from './sqlite-folder.ts'
import type { OpenedStore } from './store-contract.ts'
import { daySumsIn, sumsOfEntries } from './store-contract-day-sums.ts'

const wantedUnits = Number(process.env.FAREBOX_DIFFERENTIAL_UNITS ?? 3_000)
const seed = Number(process.env.FAREBOX_DIFFERENTIAL_SEED ?? 1)

/** A thousand units take some five seconds on a busy machine. */
const timeoutMs = 60_000 + wantedUnits * 10

/** Rounds between two looks at all rows, which are the slowest part. */
const roundsBetweenLooks = 40

/** Each table with what orders it; a number that the engine gives away is left out, its order is not. */
const orders = {
  account: ['id'],
  customer: ['account'],
  operator_act: ['seq'],
  operator: ['name'],
  wallet: ['id'],
  api_key: ['id'],
  key_use: ['key', 'period', 'start_ms'],
  staking_credit: ['account', 'day_ms'],
  hold: ['id'],
  ended_hold: ['id'],
  unit: ['id'],
  entry: ['seq'],
  day_sum: ['day_ms', 'account', 'model', 'kind'],
  nonce: ['id'],
  job: ['id'],
  job_input: ['job'],
  payment: ['id'],
  claim: ['id'],
  claim_answer: ['claim'],
  limit_log: ['seq'],
  ledger_state: ['since_ms'],
  secret_mark: ['generation'],
  receipt_key: ['id'],
  compaction: ['before_ms'],
} as const satisfies { [Table in keyof Tables]: readonly (keyof Tables[Table])[] }

withPostgres('PostgreSQL beside SQLite', cluster => {
  let opened: OpenedStore[]
  beforeEach(async () => {
    opened = [await openTemporaryStore(), await openSchemaStore(cluster())]
  })
  afterEach(async () => {
    for (const one of opened) await one.dispose()
  })

  test(
    `${wantedUnits} random units leave the same answers and the same rows (seed ${seed})`,
    async () => {
      const [sqlite, postgres] = opened.map(({ store }) => store) as [FoldingStore, FoldingStore]
      const source = new UnitSource(seed)
      const answers = new Map<string, number>()
      let seen: Seen = new Map()
      let units = 0
      for (let round = 1; units < wantedUnits; round++) {
        const batches = source.round(seen)
        const [wanted, got] = await Promise.all([sqlite, postgres].map(store => commitAll(store, batches)))
        expect(got, `round ${round} of seed ${seed}`).toEqual(wanted)
        for (const outcome of (wanted ?? []).flat())
          count(answers, outcome.ok ? `applied, ${outcome.again}` : outcome.why)
        units += batches.flat().length
        seen = await rowsThatMove(sqlite)
        if (round % roundsBetweenLooks !== 0 && units < wantedUnits) continue
        const slices = slicesOf(source.age)
        const [one, other] = await Promise.all([sqlite, postgres].map(store => pruneAll(store, slices)))
        expect(other).toEqual(one)
        for (const table of Object.keys(orders) as (keyof Tables)[])
          expect(await rowsOf(postgres, table), `${table} after round ${round}`).toEqual(await rowsOf(sqlite, table))
      }
      expect(await daySumsIn(postgres)).toEqual(await sumsOfEntries(postgres))
      // Units that only miss each other would agree on anything.
      expect([...answers.keys()].sort()).toEqual(everyAnswer)
    },
    timeoutMs,
  )
})

/** All that a store may answer, so that each of it was compared. */
const everyAnswer = [
  ...['applied, false', 'applied, true', 'claim_exists', 'claim_moved', 'hold_exists', 'insufficient_funds', 'invalid'],
  ...['job_exists', 'job_moved', 'key_exists', 'lease_live', 'no_account', 'no_hold', 'no_key', 'nonce_used'],
  ...['not_owner', 'nothing_to_refund', 'over_budget', 'over_hold', 'payment_exists', 'payment_moved', 'read_only'],
  ...['ref_exists', 'refunded', 'request_charged', 'secret_moved', 'suspended', 'too_many_open'],
  'wallet_taken',
]

const commitAll = (store: Store, batches: ReturnType<UnitSource['round']>) =>
  Promise.all(batches.map(batch => store.commit(batch)))

const count = (answers: Map<string, number>, answer: string) => answers.set(answer, (answers.get(answer) ?? 0) + 1)

/** States and fences of what the next round may move. */
async function rowsThatMove(store: Store): Promise<Seen> {
  const rows = await Promise.all(
    (['job', 'payment', 'claim'] as const).map(table =>
      store.read.selectFrom(table).select(['id', 'state', 'fence']).execute(),
    ),
  )
  return new Map(rows.flat().map(({ id, state, fence }) => [id, { state, fence }]))
}

const slicesOf = (age: number): PruneSlice[] => [
  { table: 'unit', beforeId: uuidV7Floor(nowMs + age * 100) },
  { table: 'nonce', expiredBeforeMs: 300 },
  { table: 'claim', createdBeforeMs: nowMs },
  // By age alone: what is newest is counted by numbers, and a refused unit leaves a gap in PostgreSQL's.
  { table: 'limit_log', createdBeforeMs: 200, keepNewest: 1_000_000 },
]

async function pruneAll(store: Store, slices: readonly PruneSlice[]): Promise<number[]> {
  const pruned: number[] = []
  for (const slice of slices) pruned.push(await store.prune(slice, 1_000))
  return pruned
}

async function rowsOf(store: Store, table: keyof Tables): Promise<unknown[]> {
  let query = store.read.selectFrom(table).selectAll()
  for (const column of orders[table]) query = query.orderBy(column as never)
  return (await query.execute()).map(row => ({ ...row, ...ownWords(row) }))
}

/** Each store counts entries by itself, and writes outcomes in its own words; units that come again compare those. */
const ownWords = (row: object) => ({
  ...('seq' in row ? { seq: null } : {}),
  ...('balances' in row ? { balances: null } : {}),
})
