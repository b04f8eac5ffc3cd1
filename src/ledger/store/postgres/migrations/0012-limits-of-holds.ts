import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { applyExtend, applyHold } from './0002-unit-functions/holds.ts'

const tables = [
  'ALTER TABLE hold ADD COLUMN budget_usd bigint CHECK (budget_usd >= 0)',
  'ALTER TABLE hold ADD COLUMN budget_staking_usd bigint CHECK (budget_staking_usd >= 0)',
]

const applyHoldWithLimits = applyHold
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace('owner, until_ms, at_ms)::hold', 'owner, until_ms, at_ms, usd_limit, staking_limit)::hold')

/** Lower limits of another period count as well: whoever lowers a budget means the call in flight, too. */
const applyExtendWithLimits = applyExtend.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION').replace(
  `    -- A budget that goes by another period by now says nothing about this one.
    SELECT k.budget_usd, k.budget_staking_usd INTO usd_limit, staking_limit FROM api_key k
      WHERE k.id = open_hold.api_key AND k.budget_period = open_hold.budget_period;`,
  `    -- least() passes over a null, which is no limit.
    SELECT least(k.budget_usd, open_hold.budget_usd), least(k.budget_staking_usd, open_hold.budget_staking_usd)
      INTO usd_limit, staking_limit FROM api_key k WHERE k.id = open_hold.api_key;`,
)

/** A process of the release before sends less: no end of the key, and no starts of periods whose use has to fit. */
const applyKeyBudget = `CREATE OR REPLACE FUNCTION apply_key_budget(key_id text, fields jsonb)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  of_account text;
  found_key api_key;
  used key_use;
BEGIN
  SELECT k.account INTO of_account FROM api_key k WHERE k.id = key_id;
  IF NOT FOUND THEN answer.why := 'no_key'; RETURN answer; END IF;
  -- Whoever changes the key, or counts what it uses, has locked its account.
  PERFORM FROM account a WHERE a.id = of_account FOR NO KEY UPDATE;
  SELECT * INTO found_key FROM api_key k WHERE k.id = key_id;
  IF fields ? 'before' AND (found_key.revoked_at_ms IS NOT NULL
    OR found_key.budget_period IS DISTINCT FROM fields->'before'->>'period'
    OR found_key.budget_usd IS DISTINCT FROM (fields->'before'->>'usd')::bigint
    OR found_key.budget_staking_usd IS DISTINCT FROM (fields->'before'->>'staking')::bigint
    OR (fields->'before' ? 'expiresAtMs'
      AND found_key.expires_at_ms IS DISTINCT FROM (fields->'before'->>'expiresAtMs')::bigint)) THEN
    answer.why := 'key_moved'; RETURN answer;
  END IF;
  IF fields ? 'covers' THEN
    SELECT * INTO used FROM key_use u WHERE u.key = key_id AND u.period = fields->>'period'
      AND u.start_ms = CASE u.period WHEN 'epoch' THEN (fields->'covers'->>'epochStartMs')::bigint
        WHEN 'month' THEN (fields->'covers'->>'monthStartMs')::bigint ELSE 0 END;
    -- A limit that is null is none, and so is a use that has no row.
    IF used.spent_usd + used.held_usd > (fields->>'usd')::bigint
      OR used.spent_staking_usd + used.held_staking_usd > (fields->>'staking')::bigint THEN
      answer.why := 'over_budget'; RETURN answer;
    END IF;
  END IF;
  UPDATE api_key SET label = coalesce(fields->>'label', label),
      expires_at_ms = CASE WHEN fields ? 'expiresAtMs' THEN (fields->>'expiresAtMs')::bigint ELSE expires_at_ms END,
      budget_period = fields->>'period', budget_usd = (fields->>'usd')::bigint,
      budget_staking_usd = (fields->>'staking')::bigint
    WHERE id = key_id;
  RETURN answer;
END $$`

/**
 * A hold keeps the limits that it was opened with, whatever becomes of its key's budget; and a budget is lowered only
 * where what its key has used fits the new limits.
 */
export const limitsOfHolds: Migration = {
  async up(database: Kysely<unknown>) {
    const functions = [applyHoldWithLimits, applyExtendWithLimits, applyKeyBudget]
    for (const statement of [...tables, ...functions]) await sql.raw(statement).execute(database)
  },
}
