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
  INSERT INTO api_key (id, account, hash, prefix, label, expires_at_ms, created_at_ms, budget_period, budget_usd,
      budget_staking_usd)
    VALUES (key_id, of_account, fields->>'hash', fields->>'prefix', fields->>'label',
      (fields->>'expiresAtMs')::bigint, at_ms, fields->>'period', (fields->>'usd')::bigint,
      (fields->>'staking')::bigint);
  RETURN answer;
END $$`

const applyKeyBudget = `CREATE FUNCTION apply_key_budget(key_id text, fields jsonb)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  UPDATE api_key SET budget_period = fields->>'period', budget_usd = (fields->>'usd')::bigint,
      budget_staking_usd = (fields->>'staking')::bigint WHERE id = key_id;
  IF NOT FOUND THEN answer.why := 'no_key'; END IF;
  RETURN answer;
END $$`

/** A key that is revoked again keeps its first date. */
const applyRevokeKey = `CREATE FUNCTION apply_revoke_key(key_id text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  UPDATE api_key SET revoked_at_ms = coalesce(revoked_at_ms, at_ms) WHERE id = key_id;
  IF NOT FOUND THEN answer.why := 'no_key'; END IF;
  RETURN answer;
END $$`

export const accounts = [applyAccount, applyWallet, applyKey, applyKeyBudget, applyRevokeKey]
