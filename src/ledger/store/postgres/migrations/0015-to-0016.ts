import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const name = 'text COLLATE "C"'

const columns = 'day_ms, account, model, kind, effect_usd, entries, requests'

const sumsOf = (
  entries: string,
): string => `SELECT created_at_ms - created_at_ms % 86400000, account, coalesce(model, ''),
    kind, sum(effect)::bigint, count(*), count(*) FILTER (WHERE kind = 'CHARGE' AND line = 0)
  FROM ${entries} GROUP BY 1, 2, 3, 4`

const statements = [
  // Rows of the current day are updated with every charge; free space in their pages spares the indexes.
  `CREATE TABLE day_sum (
    day_ms bigint NOT NULL,
    account ${name} NOT NULL,
    model ${name} NOT NULL,
    kind ${name} NOT NULL,
    effect_usd bigint NOT NULL,
    entries bigint NOT NULL,
    requests bigint NOT NULL,
    PRIMARY KEY (day_ms, account, model, kind)
  ) WITH (fillfactor = 70)`,
  'CREATE INDEX day_sum_by_account ON day_sum (account, day_ms)',
  `CREATE FUNCTION sum_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM compaction WHERE folding) THEN RETURN NULL; END IF;
  INSERT INTO day_sum AS s (${columns}) ${sumsOf('added')}
    ON CONFLICT (day_ms, account, model, kind) DO UPDATE SET effect_usd = s.effect_usd + excluded.effect_usd,
      entries = s.entries + excluded.entries, requests = s.requests + excluded.requests;
  RETURN NULL;
END $$`,
  `CREATE TRIGGER entry_is_summed AFTER INSERT ON entry REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION sum_entries()`,
  // A new trigger locks its table for the rest of the transaction, so no entry is missed or counted twice.
  `INSERT INTO day_sum (${columns}) ${sumsOf('entry')}`,
  "CREATE INDEX entry_of_kind ON entry (kind, seq) WHERE kind <> 'CHARGE'",
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

/** Triggers find their tables from any session, also one of an administrator with another schema. */
export const ownSchema: Migration = {
  async up(database: Kysely<unknown>) {
    for (const name of ['refuse_entry_change', 'sum_entries']) {
      await sql.raw(`ALTER FUNCTION ${name}() SET search_path FROM CURRENT`).execute(database)
    }
  },
}
