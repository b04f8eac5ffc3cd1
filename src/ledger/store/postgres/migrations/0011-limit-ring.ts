import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** As it was, and of an account only the newest 50 rows stay. */
const applyLimit = `CREATE OR REPLACE FUNCTION apply_limit(of_account text, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO limit_log (account, key, model, tier, type, created_at_ms)
    VALUES (of_account, fields->>'key', fields->>'model', fields->>'tier', fields->>'type', at_ms);
  DELETE FROM limit_log WHERE account = of_account AND seq <=
    (SELECT seq FROM limit_log WHERE account = of_account ORDER BY seq DESC LIMIT 1 OFFSET 50);
  RETURN NULL;
END $$`

/** The log of met limits is a ring of each account. */
export const limitRing: Migration = {
  async up(database: Kysely<unknown>) {
    await sql.raw(applyLimit).execute(database)
  },
}
