import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { microUsd } from '#contract/money.ts'
import { dayMs, hourMs } from '#contract/time.ts'
import { openStore } from '#ledger/store/open-store.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

/** Units per call of the store; more would only take memory. */
const atOnce = 1_000

/** Writes the holds of a killed service, half of them with a checkpoint of their cost. */
export async function leaveHolds(database: string, accounts: readonly string[], count: number): Promise<void> {
  const unit = (place: number): Unit => {
    const id = uuidV7(Date.now())
    const hold = holdOf(id, accountOf(accounts, place))
    const owed = { request: id, model: 'bench-chat', lines }
    const renew: Op = { op: 'renew', hold: id, lease: hold.lease, owed }
    return { id: `${id}/hold`, ops: place % 2 ? [hold, renew] : [hold] }
  }
  await withStore(database, async store => {
    for (let made = 0; made < count; made += atOnce) {
      const units = Array.from({ length: Math.min(atOnce, count - made) }, (_, index) => unit(made + index))
      await mustCommit(store, units)
    }
  })
}

/** Commits units, each of these operations. */
async function commitAll(database: string, units: readonly Op[][]): Promise<void> {
  await withStore(database, async store => {
    for (let made = 0; made < units.length; made += atOnce) {
      const part = units.slice(made, made + atOnce)
      await mustCommit(
        store,
        part.map(ops => ({ id: `${uuidV7(Date.now())}/bench`, ops })),
      )
    }
  })
}

async function withStore(database: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(database)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const accountOf = (accounts: readonly string[], place: number): string => accounts[place % accounts.length] ?? ''

async function mustCommit(store: Store, units: readonly Unit[]): Promise<void> {
  const refused = (await store.commit(units)).find(outcome => !outcome.ok)
  if (refused) throw new Error(`The ledger refused a unit of the generator: ${JSON.stringify(refused)}`)
}

function holdOf(hold: string, account: string): Extract<Op, { op: 'hold' }> {
  const atMs = Date.now()
  const lease = { owner: 'a process that was killed', untilMs: atMs - 1 }
  return { op: 'hold', hold, account, amount: microUsd(50n), lease, atMs }
}

const lines = [{ sku: 'chat.output', units: 7n, unitPricePicoUsd: 1_000_000n, amount: microUsd(7n) }]

/** The rows of each customer besides entries: half of its top-ups have ended, and its jobs are in every state. */
const ofEachCustomer = { payments: 10, jobs: 10, limitHits: 20 } as const

const transactionOf = (name: string): string => `0x${createHash('sha256').update(name).digest('hex')}`

/** Such as `customer 17 of the bench`, which a search for `17` finds among others. */
const nameOf = (place: number): string => `Customer ${place} of the bench`
export const emailOf = (place: number): string => `office-${place}@bench.example`
export const payerOf = (place: number): string =>
  `0x${createHash('sha256').update(nameOf(place)).digest('hex').slice(24)}`

/** Names, top-ups, jobs and limits that were hit, through the store, of customers without any. */
export function fillCustomers(database: string, accounts: readonly string[]): Promise<void> {
  return commitAll(
    database,
    accounts.flatMap((account, place) => unitsOf(account, place)),
  )
}

function unitsOf(account: string, place: number): Op[][] {
  const atMs = Date.now() - 2 * hourMs
  const set = { name: nameOf(place), email: emailOf(place) }
  const units: Op[][] = [[{ op: 'customer', account, set, atMs }]]
  for (let n = 0; n < ofEachCustomer.payments; n++) {
    const payment = `eip155:8453:usdc:${payerOf(place)}:${n}`
    const transaction = transactionOf(payment)
    const of = {
      network: 'eip155:8453',
      payer: payerOf(place),
      amount: microUsd(5_000_000n),
      payload: '{}',
      transaction,
    }
    const to = (['credited', 'unknown', 'expired', 'settling'] as const)[n % 4] ?? 'credited'
    units.push([{ op: 'payment', payment, from: null, to: 'claimed', fence: 0, set: of, atMs }])
    units.push([{ op: 'payment', payment, from: 'claimed', to, fence: 1, set: {}, atMs }])
  }
  for (let n = 0; n < ofEachCustomer.jobs; n++) {
    const [job, request] = [uuidV7(atMs), uuidV7(atMs)]
    const of = { account, model: `model-${n % 4}`, request, input: '{}' }
    units.push([{ op: 'job', job, from: null, to: 'queued', fence: 0, set: of, atMs }])
    const failure = JSON.stringify({ reason: 'The engine failed.', contentPolicy: false })
    const ended = { failure, input: null, lease: null }
    units.push([{ op: 'job', job, from: 'queued', to: 'failed', fence: 1, set: ended, atMs }])
  }
  const hit: Op = { op: 'limit', account, key: null, model: 'model-1', tier: 'S', type: 'RPM', atMs }
  units.push(Array.from({ length: ofEachCustomer.limitHits }, () => hit))
  return units
}

/** Each charge is two entries: input and output. */
const linesOfCharge = 2
const [inputUsd, outputUsd] = [20, 17]

/** Charges of one transaction: a second, and some hundred megabytes of log at most. */
const entriesAtOnce = 100_000

/** They are spread over this time before now, so that the service does not begin to forget their units while it is measured. */
const spreadMs = 6 * dayMs

/** Pages that are kept in memory meanwhile, in KiB: the busy ends of every index. */
const cacheKiB = 256 * 1024

/** The charges from one number to another, and when each was made. UUIDv7 grow with time, as those of a service do. */
const charges = `INSERT INTO charge (number, id, at_ms, account_number, posted)
  WITH RECURSIVE made (number) AS (SELECT ?1 UNION ALL SELECT number + 1 FROM made WHERE number + 1 < ?2)
  SELECT made.number,
    printf('%08x-%04x-7%03x-8000-%012x', at_ms >> 16, at_ms & 65535, made.number & 4095, made.number),
    at_ms, payer.account_number, payer.posted - (made.number / ?3) * ${inputUsd + outputUsd}
  FROM (SELECT number, ?4 + number * ${spreadMs} / ?5 AS at_ms FROM made) AS made
    JOIN payer ON payer.place = made.number % ?3`

/** The rows of a hold and its capture, as SQLite's writer leaves them. */
const rows = [
  `INSERT INTO unit (id, balances) SELECT id || '/hold', account_number || ':' || posted || ':50' FROM charge`,
  `INSERT INTO unit (id, balances)
    SELECT id || '/capture', account_number || ':' || (posted - ${inputUsd + outputUsd}) || ':0' FROM charge`,
  `INSERT INTO ended_hold (id, how) SELECT id, 'captured' FROM charge`,
  `INSERT INTO entry_row (kind, account_number, amount, posted_after, line, request, model, sku, units,
      unit_price_pico_usd, created_at_ms)
    SELECT 'CHARGE', account_number, line.amount, posted - line.spent, line.number, id, 'bench-chat', line.sku,
      line.amount, 1000000, at_ms
    FROM charge CROSS JOIN (SELECT 0 AS number, 'chat.input' AS sku, ${inputUsd} AS amount, ${inputUsd} AS spent
      UNION ALL SELECT 1, 'chat.output', ${outputUsd}, ${inputUsd + outputUsd}) AS line
    ORDER BY charge.number, line.number`,
  `UPDATE account SET posted = posted - ended.charges * ${inputUsd + outputUsd}
    FROM (SELECT account_number, count(*) AS charges FROM charge GROUP BY account_number) AS ended
      JOIN account_number ON account_number.number = ended.account_number
    WHERE account.id = account_number.account`,
  'DELETE FROM charge',
]

/**
 * Writes charges as a service does, in turn for these accounts, up to this number of entries. They are written many at
 * once, so that ten million take minutes. No other process may have the file open.
 */
export function fillEntries(path: string, accounts: readonly string[], entries: number): void {
  const database = openForWriting(path)
  try {
    database.exec(`PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${cacheKiB};
      CREATE TEMP TABLE payer (place INTEGER PRIMARY KEY, account_number INTEGER, posted INTEGER);
      CREATE TEMP TABLE charge (number INTEGER PRIMARY KEY, id TEXT, at_ms INTEGER, account_number INTEGER, posted INTEGER)`)
    notePayers(database, accounts)
    const count = Math.ceil(entries / linesOfCharge)
    const fromMs = Date.now() - spreadMs
    const [make, begin, commit] = [charges, 'BEGIN', 'COMMIT'].map(sql => database.prepare(sql))
    const write = rows.map(sql => database.prepare(sql))
    for (let made = 0; made < count; made += entriesAtOnce) {
      begin?.run()
      // As bigints, because SQLite would treat numbers as floats.
      make?.run(...[made, Math.min(count, made + entriesAtOnce), accounts.length, fromMs, count].map(BigInt))
      for (const statement of write) statement.run()
      commit?.run()
    }
  } finally {
    database.close()
  }
}

function notePayers(database: DatabaseSync, accounts: readonly string[]): void {
  const note = database.prepare(`INSERT INTO payer SELECT ?, account_number.number, account.posted
    FROM account JOIN account_number ON account_number.account = account.id WHERE account.id = ?`)
  for (const [place, account] of accounts.entries()) note.run(place, account)
}
