import type { DatabaseSync } from 'node:sqlite'
import { dayMs } from '#contract/time.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'

/** Each charge is two entries: input and output. */
const linesOfCharge = 2
const [inputUsd, outputUsd] = [20, 17]

/** Charges of one transaction: a second, and some hundred megabytes of log at most. */
const atOnce = 100_000

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
    for (let made = 0; made < count; made += atOnce) {
      begin?.run()
      // As bigints, because SQLite would treat numbers as floats.
      make?.run(...[made, Math.min(count, made + atOnce), accounts.length, fromMs, count].map(BigInt))
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
