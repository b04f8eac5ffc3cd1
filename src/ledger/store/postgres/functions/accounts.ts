const applyAccount = `CREATE FUNCTION apply_account(account_id text, of_kind text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO account (id, kind, created_at_ms) VALUES (account_id, of_kind, at_ms) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$`

const applyWallet = `CREATE FUNCTION apply_wallet(wallet_id text, of_account text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  owner text;
BEGIN
  IF NOT EXISTS (SELECT FROM account a WHERE a.id = of_account) THEN
    answer.why := 'no_account'; RETURN answer;
  END IF;
  SELECT w.account INTO owner FROM wallet w WHERE w.id = wallet_id;
  IF NOT FOUND THEN
    INSERT INTO wallet (id, account, created_at_ms) VALUES (wallet_id, of_account, at_ms);
  ELSIF owner <> of_account THEN
    answer.why := 'wallet_taken';
  END IF;
  RETURN answer;
END $$`

const applyKey = `CREATE FUNCTION apply_key(key_id text, of_account text, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  IF NOT EXISTS (SELECT FROM account a WHERE a.id = of_account) THEN
    answer.why := 'no_account'; RETURN answer;
  END IF;
  IF EXISTS (SELECT FROM api_key k WHERE k.id = key_id)
    OR EXISTS (SELECT FROM api_key k WHERE k.hash = fields->>'hash') THEN
    answer.why := 'key_exists'; RETURN answer;
  END IF;
  IF (fields->>'mostActive')::bigint <= (SELECT count(*) FROM api_key k WHERE k.account = of_account
    AND k.revoked_at_ms IS NULL AND (k.expires_at_ms IS NULL OR k.expires_at_ms > at_ms)) THEN
    answer.why := 'too_many_keys'; RETURN answer;
  END IF;
  INSERT INTO api_key (role, ending, id, account, hash, prefix, label, expires_at_ms, created_at_ms, budget_period, budget_usd,
      budget_staking_usd)
    VALUES (coalesce(fields->>'role', 'INFERENCE'), coalesce(fields->>'ending', ''), key_id, of_account, fields->>'hash', fields->>'prefix', fields->>'label',
      (fields->>'expiresAtMs')::bigint, at_ms, fields->>'period', (fields->>'usd')::bigint,
      (fields->>'staking')::bigint);
  RETURN answer;
END $$`

/** `before` is the key as it was read; with `covers`, what the key has used of its period must fit the new limits. */
const applyKeyBudget = `CREATE FUNCTION apply_key_budget(key_id text, fields jsonb)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  of_account text;
  found_key api_key;
  used key_use;
BEGIN
  SELECT k.account INTO of_account FROM api_key k WHERE k.id = key_id;
  IF NOT FOUND THEN answer.why := 'no_key'; RETURN answer; END IF;
  -- Every change of the key, and of what it has used, locks its account first.
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
    -- A comparison with null is not true: a limit that is null is unlimited, and a use without a row is zero.
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

/** Revoking a key again keeps its first date. */
const applyRevokeKey = `CREATE FUNCTION apply_revoke_key(key_id text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  UPDATE api_key SET revoked_at_ms = coalesce(revoked_at_ms, at_ms) WHERE id = key_id;
  IF NOT FOUND THEN answer.why := 'no_key'; END IF;
  RETURN answer;
END $$`

const applyCustomer = `CREATE FUNCTION apply_customer(of_account text, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  IF NOT EXISTS (SELECT FROM account a WHERE a.id = of_account) THEN
    answer.why := 'no_account'; RETURN answer;
  END IF;
  INSERT INTO customer (account, changed_at_ms) VALUES (of_account, at_ms) ON CONFLICT DO NOTHING;
  UPDATE customer c SET
      name = CASE WHEN fields ? 'name' THEN fields->>'name' ELSE c.name END,
      email = CASE WHEN fields ? 'email' THEN fields->>'email' ELSE c.email END,
      note = CASE WHEN fields ? 'note' THEN fields->>'note' ELSE c.note END,
      plan = CASE WHEN fields ? 'plan' THEN fields->>'plan' ELSE c.plan END,
      changed_at_ms = at_ms
    WHERE c.account = of_account;
  RETURN answer;
END $$`

const applySuspend = `CREATE FUNCTION apply_suspend(of_account text, because text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  UPDATE account SET suspended_at_ms = coalesce(suspended_at_ms, at_ms), suspended_reason = because
    WHERE id = of_account;
  IF NOT FOUND THEN answer.why := 'no_account'; END IF;
  RETURN answer;
END $$`

const applyResume = `CREATE FUNCTION apply_resume(of_account text) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  UPDATE account SET suspended_at_ms = NULL, suspended_reason = NULL WHERE id = of_account;
  IF NOT FOUND THEN answer.why := 'no_account'; END IF;
  RETURN answer;
END $$`

/** Accounts, their wallets and keys, and what operators know about customers. */
export const accountFunctions: readonly string[] = [
  applyAccount,
  applyWallet,
  applyKey,
  applyKeyBudget,
  applyRevokeKey,
  applyCustomer,
  applySuspend,
  applyResume,
]

const applyNonce = `CREATE FUNCTION apply_nonce(nonce_id text, until_ms bigint) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  INSERT INTO nonce (id, expires_at_ms) VALUES (nonce_id, until_ms) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN answer.why := 'nonce_used'; END IF;
  RETURN answer;
END $$`

/** As before, but only an account's newest 50 rows stay. */
const applyLimit = `CREATE FUNCTION apply_limit(of_account text, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO limit_log (account, key, model, tier, type, created_at_ms)
    VALUES (of_account, fields->>'key', fields->>'model', fields->>'tier', fields->>'type', at_ms);
  DELETE FROM limit_log WHERE account = of_account AND seq <=
    (SELECT seq FROM limit_log WHERE account = of_account ORDER BY seq DESC LIMIT 1 OFFSET 50);
  RETURN NULL;
END $$`

const applyLedger = `CREATE FUNCTION apply_ledger(next text, because text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_state (one, state, reason, since_ms) VALUES (1, next, because, at_ms)
    ON CONFLICT (one) DO UPDATE SET state = excluded.state, reason = excluded.reason, since_ms = excluded.since_ms;
  RETURN NULL;
END $$`

const isReadOnly = `CREATE FUNCTION is_read_only() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT FROM ledger_state WHERE state = 'read_only');
END $$`

const applySecret = `CREATE FUNCTION apply_secret(next bigint, told text, put text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  INSERT INTO secret_mark (generation, mark, place, since_ms) SELECT next, told, put, at_ms
    WHERE next = (SELECT coalesce(max(s.generation), 0) + 1 FROM secret_mark s) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN answer.why := 'secret_moved'; END IF;
  RETURN answer;
END $$`

const applyReceiptKey = `CREATE FUNCTION apply_receipt_key(key_id text, public_key text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO receipt_key VALUES (key_id, public_key, at_ms) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$`

const applyAct = `CREATE FUNCTION apply_act(of_account text, named text, fields jsonb, time_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO operator_act (at_ms, actor, act, account, subject, reason, before_change, after_change)
    VALUES (time_ms, fields->>'actor', named, of_account, fields->>'subject', fields->>'reason', fields->>'before',
      fields->>'after');
  RETURN NULL;
END $$`

/** One lock covers all changes of operators, so the number of owners cannot change while they are counted. */
const applyOperator = `CREATE FUNCTION apply_operator(named text, seen_fence bigint, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  role_before text;
BEGIN
  IF seen_fence = 0 THEN
    INSERT INTO operator (name, role, epoch, proofs, fence, created_at_ms, changed_at_ms)
      VALUES (named, fields->>'role', fields->>'epoch', fields->>'proofs', 1, at_ms, at_ms) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN answer.why := 'operator_moved'; END IF;
    RETURN answer;
  END IF;
  SELECT o.role INTO role_before FROM operator o WHERE o.name = named AND o.fence = seen_fence FOR UPDATE;
  IF NOT FOUND THEN answer.why := 'operator_moved'; RETURN answer; END IF;
  IF role_before = 'owner' AND coalesce(fields->>'role', '') <> 'owner'
    AND NOT EXISTS (SELECT FROM operator o WHERE o.role = 'owner' AND o.name <> named) THEN
    answer.why := 'last_owner'; RETURN answer;
  END IF;
  IF fields IS NULL THEN
    DELETE FROM operator o WHERE o.name = named;
  ELSE
    UPDATE operator o SET role = fields->>'role', epoch = fields->>'epoch', proofs = fields->>'proofs',
        fence = o.fence + 1, changed_at_ms = at_ms
      WHERE o.name = named;
  END IF;
  RETURN answer;
END $$`

export const recordFunctions: readonly string[] = [
  applyNonce,
  applyLimit,
  applyLedger,
  isReadOnly,
  applySecret,
  applyReceiptKey,
  applyAct,
  applyOperator,
]
