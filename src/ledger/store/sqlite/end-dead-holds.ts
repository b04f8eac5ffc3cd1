import type { DatabaseSync } from 'node:sqlite'
import { deadHoldsTogether } from '../../bounds.ts'

/** Temporary tables for the holds of one set, and the lines in their checkpoints. */
const tables = `
  CREATE TEMP TABLE dead_hold (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, usd INTEGER NOT NULL, staking_usd INTEGER NOT NULL,
    staking_day_ms INTEGER, api_key TEXT, budget_period TEXT, budget_start_ms INTEGER, request TEXT, model TEXT,
    lines INTEGER NOT NULL, charged INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE TEMP TABLE dead_line (
    hold TEXT NOT NULL, line INTEGER NOT NULL, sku TEXT NOT NULL, units INTEGER NOT NULL, price INTEGER NOT NULL,
    amount INTEGER NOT NULL, PRIMARY KEY (hold, line)
  ) STRICT, WITHOUT ROWID`

/** Reads what `storeOwed` wrote, in the same way as `readOwed`. */
const findHolds = `
  INSERT INTO dead_hold (id, account, usd, staking_usd, staking_day_ms, api_key, budget_period, budget_start_ms,
      request, model, lines)
    SELECT id, account, amount - staking_usd, staking_usd, staking_day_ms, api_key, budget_period, budget_start_ms,
      owed ->> '$[0]', owed ->> '$[1]', coalesce(json_array_length(owed, '$[2]'), 0)
    FROM hold WHERE id > ? AND lease_owner <> ? ORDER BY id LIMIT ?`

const findLines = `
  INSERT INTO dead_line (hold, line, sku, units, price, amount)
    SELECT dead_hold.id, owing.key, owing.value ->> 0, CAST(owing.value ->> 1 AS INTEGER),
      CAST(owing.value ->> 2 AS INTEGER), CAST(owing.value ->> 3 AS INTEGER)
    FROM dead_hold JOIN hold ON hold.id = dead_hold.id JOIN json_each(hold.owed, '$[2]') AS owing
    WHERE dead_hold.lines > 0`

const addLines = `
  UPDATE dead_hold SET charged = (SELECT sum(amount) FROM dead_line WHERE dead_line.hold = dead_hold.id)
    WHERE lines > 0`

/**
 * Leaves these to units: a charge that staking credit partly pays, one beyond its hold, and one that may be a repeat.
 */
const leaveOthers = `
  DELETE FROM dead_hold WHERE lines > 0 AND (staking_usd > 0 OR charged > usd
    OR EXISTS (SELECT 1 FROM entry_row WHERE entry_row.ref = 'charge:' || dead_hold.request)
    OR request IN (SELECT request FROM dead_hold WHERE lines > 0 GROUP BY request HAVING count(*) > 1))`

/** Each charge's balance is the one before it plus its effect, in the order in which they are written. */
const writeCharges = `
  INSERT INTO entry_row (kind, account_number, amount, posted_after, line, request, model, sku, units,
      unit_price_pico_usd, api_key, budget_period, budget_start_ms, created_at_ms, own_id)
    SELECT 'CHARGE', account_number.number, dead_line.amount,
      account.posted - sum(dead_line.amount)
        OVER (PARTITION BY dead_hold.account ORDER BY dead_hold.id, dead_line.line ROWS UNBOUNDED PRECEDING),
      dead_line.line, dead_hold.request, dead_hold.model, dead_line.sku, dead_line.units, dead_line.price,
      dead_hold.api_key, dead_hold.budget_period, dead_hold.budget_start_ms, ?,
      dead_hold.id || '/recover.' || dead_line.line
    FROM dead_hold JOIN dead_line ON dead_line.hold = dead_hold.id
      JOIN account ON account.id = dead_hold.account
      JOIN account_number ON account_number.account = dead_hold.account
    ORDER BY dead_hold.id, dead_line.line`

const freeHolds = [
  `UPDATE account SET posted = posted - ended.charged, held = held - ended.usd
    FROM (SELECT account, sum(charged) AS charged, sum(usd) AS usd FROM dead_hold GROUP BY account) AS ended
    WHERE account.id = ended.account`,
  `UPDATE key_use SET held_usd = held_usd - ended.usd, held_staking_usd = held_staking_usd - ended.staking,
      spent_usd = spent_usd + ended.charged
    FROM (SELECT api_key, budget_period, budget_start_ms, sum(usd) AS usd, sum(staking_usd) AS staking,
        sum(charged) AS charged
      FROM dead_hold WHERE budget_period IS NOT NULL GROUP BY api_key, budget_period, budget_start_ms) AS ended
    WHERE key_use.key = ended.api_key AND key_use.period = ended.budget_period
      AND key_use.start_ms = ended.budget_start_ms`,
  `UPDATE staking_credit SET held_usd = held_usd - ended.staking
    FROM (SELECT account, staking_day_ms, sum(staking_usd) AS staking FROM dead_hold
      WHERE staking_usd > 0 GROUP BY account, staking_day_ms) AS ended
    WHERE staking_credit.account = ended.account AND staking_credit.day_ms = ended.staking_day_ms`,
  `INSERT INTO ended_hold (id, how)
    SELECT id, CASE WHEN lines > 0 THEN 'captured' ELSE 'released' END FROM dead_hold ORDER BY id`,
]

/**
 * Ends the holds of all other owners by the rules of `release` and `capture`, many at once, because ending ten thousand
 * of them one by one doubles the time of a start. Each set is a transaction, so a kill leaves the others open for the
 * next start. Special cases stay open for units. Returns the number of ended holds.
 */
export function deadHoldsEnder(
  database: DatabaseSync,
  together = deadHoldsTogether,
): (owner: string, atMs: number) => number {
  let prepared: ReturnType<typeof prepareSteps> | null = null
  return (owner, atMs) => {
    prepared ??= prepareSteps(database)
    const { begin, find, last, charge, steps, removeHolds, clear, commit } = prepared
    let ended = 0
    for (let after: string | null = ''; after !== null; ) {
      begin.run()
      try {
        find.run(after, owner, together)
        after = (last.get() as { id: string | null }).id
        for (const step of steps.before) step.run()
        charge.run(atMs)
        for (const step of steps.after) step.run()
        ended += Number(removeHolds.run().changes)
        for (const step of clear) step.run()
        commit.run()
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        throw error
      }
    }
    return ended
  }
}

function prepareSteps(database: DatabaseSync) {
  // A set needs little space, and a temporary file could fail.
  database.exec(`PRAGMA temp_store = MEMORY; ${tables}`)
  const prepare = (sql: string) => database.prepare(sql)
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    find: prepare(findHolds),
    last: prepare('SELECT max(id) AS id FROM dead_hold'),
    charge: prepare(writeCharges),
    steps: { before: [findLines, addLines, leaveOthers].map(prepare), after: freeHolds.map(prepare) },
    removeHolds: prepare('DELETE FROM hold WHERE id IN (SELECT id FROM dead_hold)'),
    clear: ['DELETE FROM dead_line', 'DELETE FROM dead_hold'].map(prepare),
    commit: prepare('COMMIT'),
  }
}
