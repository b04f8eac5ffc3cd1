import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** As it was, and refused where the budget is another than its caller has read. A process of the release before sends none. */
const applyKeyBudget = `CREATE OR REPLACE FUNCTION apply_key_budget(key_id text, fields jsonb)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  UPDATE api_key SET label = coalesce(fields->>'label', label),
      expires_at_ms = CASE WHEN fields ? 'expiresAtMs' THEN (fields->>'expiresAtMs')::bigint ELSE expires_at_ms END,
      budget_period = fields->>'period', budget_usd = (fields->>'usd')::bigint,
      budget_staking_usd = (fields->>'staking')::bigint
    WHERE id = key_id AND (NOT fields ? 'before'
      OR (budget_period IS NOT DISTINCT FROM fields->'before'->>'period'
        AND budget_usd IS NOT DISTINCT FROM (fields->'before'->>'usd')::bigint
        AND budget_staking_usd IS NOT DISTINCT FROM (fields->'before'->>'staking')::bigint));
  IF NOT FOUND THEN
    answer.why := CASE WHEN EXISTS (SELECT 1 FROM api_key WHERE id = key_id) THEN 'key_moved' ELSE 'no_key' END;
  END IF;
  RETURN answer;
END $$`

/** Two changes of a key at once, of which neither takes away what the other set. */
export const keyChanges: Migration = {
  async up(database: Kysely<unknown>) {
    await sql.raw(applyKeyBudget).execute(database)
  },
}
