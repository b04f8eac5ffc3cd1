import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { applyOp } from './0002-to-0004.ts'
import { applyExtend, applyHold, applyRenew, endHold } from './0002-unit-functions/holds.ts'
import { accounts } from './0002-unit-functions/records.ts'

/**
 * Accounts are permanent, so a locked one can be relied on. Checking for it at each entry and hold, as a foreign key
 * does, took an eighth of the database's time; the audit checks for unknown accounts too.
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

/** The function as the last migration left it, with one more operation. */
export const applyOpToo = applyOp.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION').replace(
  '    ELSE RETURN',
  `    WHEN 'secret' THEN RETURN apply_secret(amounts[i], names[i], words[i], times_ms[i]);
    WHEN 'receiptKey' THEN RETURN apply_receipt_key(names[i], words[i], times_ms[i]);
    ELSE RETURN`,
)

/** Public keys of receipts, so that a receipt can be verified long after the secret that signed it is gone. */
export const receiptKeys: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [table, applyReceiptKey, applyOpToo]) await sql.raw(statement).execute(database)
  },
}

/**
 * The freed amount and the lease were read before the account was locked, so the row must still have the same values.
 */
const endHoldAsRead = endHold
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace(
    'DELETE FROM hold WHERE id = open_hold.id;',
    'DELETE FROM hold h WHERE h.id = open_hold.id AND h IS NOT DISTINCT FROM open_hold;',
  )
  .replace('has ended meanwhile', 'has moved meanwhile')

/** Ending a lapsed hold locks its account and then reads the lease, which must not be renewed afterwards. */
export const applyRenewLocked = applyRenew
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace('owned_by text;', 'owned_by text;\n  of_account text;')
  .replace('SELECT h.lease_owner INTO owned_by FROM', 'SELECT h.lease_owner, h.account INTO owned_by, of_account FROM')
  .replace('  UPDATE hold', '  PERFORM FROM account a WHERE a.id = of_account FOR NO KEY UPDATE;\n  UPDATE hold')

/**
 * A unit may name a hold that did not exist when its batch locked accounts, and that another process changes before
 * this one gets its account: if extended, the extension would stay held forever; if renewed, the hold would be ended as
 * lapsed.
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
  // An account's use by time: a page of it and its count are read from the index, however many others there are.
  `CREATE INDEX entry_of_use ON entry (account, created_at_ms, seq) WHERE kind <> 'TOP_UP' AND kind <> 'GRANT'`,
  `CREATE INDEX entry_of_staking ON entry (account, created_at_ms, seq) WHERE kind = 'STAKING'`,
]

/** The functions as before, plus what a process of this release also sends; one of the previous release sends less. */
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

/** Keys that manage their account, and reading its use without scanning its whole history. */
export const keyRoles: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [...keyRoleColumns, ...keyRoleFunctions]) await sql.raw(statement).execute(database)
  },
}

/**
 * As before, but refused if the budget has changed since its caller read it. A process of the previous release sends
 * none.
 */
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

/** Two concurrent changes of a key, neither of which undoes the other. */
export const keyChanges: Migration = {
  async up(database: Kysely<unknown>) {
    await sql.raw(applyKeyBudget).execute(database)
  },
}

/** As before, but only an account's newest 50 rows stay. */
const applyLimit = `CREATE OR REPLACE FUNCTION apply_limit(of_account text, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO limit_log (account, key, model, tier, type, created_at_ms)
    VALUES (of_account, fields->>'key', fields->>'model', fields->>'tier', fields->>'type', at_ms);
  DELETE FROM limit_log WHERE account = of_account AND seq <=
    (SELECT seq FROM limit_log WHERE account = of_account ORDER BY seq DESC LIMIT 1 OFFSET 50);
  RETURN NULL;
END $$`

/** The limit log is a ring per account. */
export const limitRing: Migration = {
  async up(database: Kysely<unknown>) {
    await sql.raw(applyLimit).execute(database)
  },
}

const holdLimitColumns = [
  'ALTER TABLE hold ADD COLUMN budget_usd bigint CHECK (budget_usd >= 0)',
  'ALTER TABLE hold ADD COLUMN budget_staking_usd bigint CHECK (budget_staking_usd >= 0)',
]

export const applyHoldWithLimits = applyHold
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace('owner, until_ms, at_ms)::hold', 'owner, until_ms, at_ms, usd_limit, staking_limit)::hold')

/** Lower limits of another period count too: lowering a budget also applies to calls in flight. */
export const applyExtendWithLimits = applyExtend.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION').replace(
  `    -- A budget that goes by another period by now says nothing about this one.
    SELECT k.budget_usd, k.budget_staking_usd INTO usd_limit, staking_limit FROM api_key k
      WHERE k.id = open_hold.api_key AND k.budget_period = open_hold.budget_period;`,
  `    -- least() passes over a null, which is no limit.
    SELECT least(k.budget_usd, open_hold.budget_usd), least(k.budget_staking_usd, open_hold.budget_staking_usd)
      INTO usd_limit, staking_limit FROM api_key k WHERE k.id = open_hold.api_key;`,
)

/** A process of the previous release sends less: no expiry of the key, and no starts of periods whose use must fit. */
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
 * A hold keeps the limits with which it was opened, whatever becomes of its key's budget; and a budget is lowered only
 * if what its key has used fits the new limits.
 */
export const limitsOfHolds: Migration = {
  async up(database: Kysely<unknown>) {
    const functions = [applyHoldWithLimits, applyExtendWithLimits, applyKeyBudgetWithin]
    for (const statement of [...holdLimitColumns, ...functions]) await sql.raw(statement).execute(database)
  },
}

const compactionTable = `CREATE TABLE compaction (
  one bigint PRIMARY KEY CHECK (one = 1),
  before_ms bigint NOT NULL,
  folding boolean NOT NULL
)`

/** As before, except for the one transaction that folds entries; no other transaction sees the `folding` mark. */
const refuseEntryChange = `CREATE OR REPLACE FUNCTION refuse_entry_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM compaction WHERE folding) THEN RETURN NULL; END IF;
  RAISE EXCEPTION 'entries are append-only' USING ERRCODE = 'FB002';
END $$`

/** The sum of each kind between the same two sides, and the balance after the entries: folding keeps both. */
const moneyOfEntries = `CREATE FUNCTION money_of_entries(of_account text, first_seq bigint, last_seq bigint)
RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN jsonb_build_array(
    (SELECT jsonb_object_agg(s.kind || ' ' || s.debit || ' ' || s.credit, s.amount) FROM (
      SELECT e.kind, e.debit, e.credit, sum(e.amount) AS amount FROM entry e
        WHERE e.account = of_account AND e.seq BETWEEN first_seq AND last_seq
        GROUP BY e.kind, e.debit, e.credit HAVING sum(e.amount) <> 0) s),
    (SELECT e.posted_after FROM entry e WHERE e.account = of_account AND e.seq <= last_seq ORDER BY e.seq DESC LIMIT 1));
END $$`

const foldedColumns = [
  ...['seq bigint', 'id text', 'kind text', 'account text', 'debit text', 'credit text', 'amount bigint'],
  ...['posted_after bigint', 'ref text', 'line bigint', 'request text', 'model text', 'sku text', 'units bigint'],
  ...['unit_price_pico_usd bigint', 'reason text', 'api_key text', 'budget_period text', 'budget_start_ms bigint'],
  ...['staking_day_ms bigint', 'created_at_ms bigint'],
]
const foldedNames = foldedColumns.map(column => column.split(' ')[0]).join(', ')

const foldEntries = `CREATE FUNCTION fold_entries(
  of_account text, first_seq bigint, last_seq bigint, entries bigint, before_time_ms bigint, sums text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before jsonb;
  gone bigint;
BEGIN
  -- Whoever folds at the same time waits here for the other one.
  INSERT INTO compaction AS c VALUES (1, before_time_ms, true)
    ON CONFLICT (one) DO UPDATE SET before_ms = greatest(c.before_ms, before_time_ms), folding = true;
  before := money_of_entries(of_account, first_seq, last_seq);
  -- Only here does the service's own role have this privilege: to every other transaction it never has it.
  GRANT DELETE ON entry TO CURRENT_USER;
  DELETE FROM entry WHERE account = of_account AND seq BETWEEN first_seq AND last_seq;
  GET DIAGNOSTICS gone = ROW_COUNT;
  REVOKE DELETE ON entry FROM CURRENT_USER;
  INSERT INTO entry (${foldedNames})
    SELECT ${foldedNames} FROM jsonb_to_recordset(sums::jsonb) AS folded (${foldedColumns.join(', ')});
  IF gone <> entries OR before IS DISTINCT FROM money_of_entries(of_account, first_seq, last_seq) THEN
    RAISE EXCEPTION 'entries are not what their sums were made of';
  END IF;
  UPDATE compaction SET folding = false;
  RETURN gone;
END $$`

/** Entries may be replaced by their sums, within the one transaction that says so; to everyone else they are append-only. */
export const foldedEntries: Migration = {
  async up(database: Kysely<unknown>) {
    const functions = [refuseEntryChange, moneyOfEntries, foldEntries]
    for (const statement of [compactionTable, ...functions]) await sql.raw(statement).execute(database)
  },
}
