import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { applyOp } from './0002-to-0004.ts'
import { applyExtend, applyHold, applyRenew, endHold } from './0002-unit-functions/holds.ts'
import { accounts } from './0002-unit-functions/records.ts'

/**
 * Accounts stay for good, so whoever has locked one may count on it. To look for it again at each entry and each hold,
 * as a foreign key does, took an eighth of the database's time; the audit of the books looks for strangers, too.
 */
const statements = [
  `CREATE FUNCTION refuse_account_loss() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'accounts are never deleted or renamed' USING ERRCODE = 'FB002'; END $$`,
  `CREATE TRIGGER account_is_never_lost BEFORE UPDATE OF id OR DELETE OR TRUNCATE ON account
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_account_loss()`,
  'REVOKE DELETE, TRUNCATE ON account FROM CURRENT_USER, PUBLIC',
  'ALTER TABLE entry DROP CONSTRAINT entry_account_fkey',
  'ALTER TABLE hold DROP CONSTRAINT hold_account_fkey',
]

export const accountsStay: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(database)
  },
}

const name = 'text COLLATE "C"'

const table = `CREATE TABLE receipt_key (
  id ${name} PRIMARY KEY,
  public_key ${name} NOT NULL,
  since_ms bigint NOT NULL
)`

const applyReceiptKey = `CREATE FUNCTION apply_receipt_key(key_id text, public_key text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO receipt_key VALUES (key_id, public_key, at_ms) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$`

/** The function as the last migration that touched it left it, with one more operation. */
const applyOpToo = applyOp.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION').replace(
  '    ELSE RETURN',
  `    WHEN 'secret' THEN RETURN apply_secret(amounts[i], names[i], words[i], times_ms[i]);
    WHEN 'receiptKey' THEN RETURN apply_receipt_key(names[i], words[i], times_ms[i]);
    ELSE RETURN`,
)

/** Public keys of receipts, so that a receipt can be checked when the secret that signed it is long gone. */
export const receiptKeys: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [table, applyReceiptKey, applyOpToo]) await sql.raw(statement).execute(database)
  },
}

/** What is freed and how long a lease lasts were read before the account was locked, so the row has to say the same still. */
const endHoldAsRead = endHold
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace(
    'DELETE FROM hold WHERE id = open_hold.id;',
    'DELETE FROM hold h WHERE h.id = open_hold.id AND h IS NOT DISTINCT FROM open_hold;',
  )
  .replace('has ended meanwhile', 'has moved meanwhile')

/** Whoever ends a lapsed hold has locked its account, reads the lease after that, and must not find it renewed later. */
const applyRenewLocked = applyRenew
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace('owned_by text;', 'owned_by text;\n  of_account text;')
  .replace('SELECT h.lease_owner INTO owned_by FROM', 'SELECT h.lease_owner, h.account INTO owned_by, of_account FROM')
  .replace('  UPDATE hold', '  PERFORM FROM account a WHERE a.id = of_account FOR NO KEY UPDATE;\n  UPDATE hold')

/**
 * A unit may name a hold that was not there yet when the accounts of its batch were locked, and that another process moves
 * before this one gets to its account: extended, and its extension would stay held for good; renewed, and it would be
 * ended as lapsed.
 */
export const movedHolds: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [endHoldAsRead, applyRenewLocked]) await sql.raw(statement).execute(database)
  },
}

const keyRoleColumns = [
  `ALTER TABLE api_key ADD COLUMN role text COLLATE "C" NOT NULL DEFAULT 'INFERENCE'
    CHECK (role IN ('INFERENCE', 'ADMIN'))`,
  `ALTER TABLE api_key ADD COLUMN ending text COLLATE "C" NOT NULL DEFAULT ''`,
  // What an account used, by time: a page of it and its count are read from the index, however many others there are.
  `CREATE INDEX entry_of_use ON entry (account, created_at_ms, seq) WHERE kind <> 'TOP_UP' AND kind <> 'GRANT'`,
  `CREATE INDEX entry_of_staking ON entry (account, created_at_ms, seq) WHERE kind = 'STAKING'`,
]

/** The functions as they were, with what a process of this release sends besides; one of the release before sends less. */
const keyRoleFunctions = accounts
  .filter(each => /FUNCTION apply_key(_budget)?\(/.test(each))
  .map(each =>
    each
      .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
      .replace(
        '  INSERT INTO api_key (',
        `  IF (fields->>'mostActive')::bigint <= (SELECT count(*) FROM api_key k WHERE k.account = of_account
    AND k.revoked_at_ms IS NULL AND (k.expires_at_ms IS NULL OR k.expires_at_ms > at_ms)) THEN
    answer.why := 'too_many_keys'; RETURN answer;
  END IF;
  INSERT INTO api_key (role, ending, `,
      )
      .replace(
        'VALUES (key_id,',
        "VALUES (coalesce(fields->>'role', 'INFERENCE'), coalesce(fields->>'ending', ''), key_id,",
      )
      .replace(
        'UPDATE api_key SET ',
        `UPDATE api_key SET label = coalesce(fields->>'label', label),
      expires_at_ms = CASE WHEN fields ? 'expiresAtMs' THEN (fields->>'expiresAtMs')::bigint ELSE expires_at_ms END,
      `,
      ),
  )

/** Keys that manage their account, and reading what it used without a look at all that it ever did. */
export const keyRoles: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [...keyRoleColumns, ...keyRoleFunctions]) await sql.raw(statement).execute(database)
  },
}

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

const holdLimitColumns = [
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
const applyKeyBudgetWithin = `CREATE OR REPLACE FUNCTION apply_key_budget(key_id text, fields jsonb)
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
    const functions = [applyHoldWithLimits, applyExtendWithLimits, applyKeyBudgetWithin]
    for (const statement of [...holdLimitColumns, ...functions]) await sql.raw(statement).execute(database)
  },
}
