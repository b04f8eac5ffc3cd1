import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const dayOf = (time: string): string => `${time} - ${time} % 86400000`

/** How an entry changes its account's balance; if its sides are stored, they are compared. */
const effectOf = (row: string): string => `CASE
  WHEN ${row}.own_credit IS NULL THEN CASE ${row}.kind WHEN 'CHARGE' THEN -${row}.amount ELSE ${row}.amount END
  WHEN ${row}.own_credit = (SELECT account FROM account_number WHERE number = ${row}.account_number) THEN ${row}.amount
  ELSE -${row}.amount END`

const columns = 'day_ms, account_number, model, kind, effect_usd, entries, requests'

const statements = [
  `CREATE TABLE day_sum_row (
    day_ms INTEGER NOT NULL,
    account_number INTEGER NOT NULL,
    model TEXT NOT NULL,
    kind TEXT NOT NULL,
    effect_usd INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (day_ms, account_number, model, kind)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX day_sum_by_account ON day_sum_row (account_number, day_ms)',
  `INSERT INTO day_sum_row (${columns})
    SELECT ${dayOf('created_at_ms')}, account_number, coalesce(model, ''), kind, sum(${effectOf('entry_row')}), count(*),
      sum(kind = 'CHARGE' AND line = 0)
    FROM entry_row GROUP BY 1, 2, 3, 4`,
  `CREATE TRIGGER entry_is_summed AFTER INSERT ON entry_row
    WHEN NOT EXISTS (SELECT 1 FROM compaction WHERE folding = 1) BEGIN
      INSERT INTO day_sum_row (${columns})
        VALUES (${dayOf('NEW.created_at_ms')}, NEW.account_number, coalesce(NEW.model, ''), NEW.kind, ${effectOf('NEW')},
          1, NEW.kind = 'CHARGE' AND NEW.line = 0)
        ON CONFLICT (day_ms, account_number, model, kind) DO UPDATE SET effect_usd = effect_usd + excluded.effect_usd,
          entries = entries + 1, requests = requests + excluded.requests; END`,
  `CREATE VIEW day_sum AS SELECT day_sum_row.day_ms, account_number.account, day_sum_row.model, day_sum_row.kind,
    day_sum_row.effect_usd, day_sum_row.entries, day_sum_row.requests
    FROM day_sum_row JOIN account_number ON account_number.number = day_sum_row.account_number`,
  "CREATE INDEX entry_of_kind ON entry_row (kind, seq) WHERE kind <> 'CHARGE'",
  'CREATE INDEX payment_by_time ON payment (created_at_ms, id)',
]

/**
 * Sums of entries by UTC day, account, model and kind, written in the transaction of each entry, so that they match the
 * ledger at any moment. Folding does not change them: days of old months stay separate.
 */
export const daySums: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(database)
  },
}
