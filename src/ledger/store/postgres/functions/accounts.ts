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
