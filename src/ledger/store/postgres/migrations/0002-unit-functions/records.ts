const applyNonce = `CREATE FUNCTION apply_nonce(nonce_id text, until_ms bigint) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  INSERT INTO nonce (id, expires_at_ms) VALUES (nonce_id, until_ms) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN answer.why := 'nonce_used'; END IF;
  RETURN answer;
END $$`

const applyLimit = `CREATE FUNCTION apply_limit(of_account text, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO limit_log (account, key, model, tier, type, created_at_ms)
    VALUES (of_account, fields->>'key', fields->>'model', fields->>'tier', fields->>'type', at_ms);
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

export const records = [applyNonce, applyLimit, applyLedger, isReadOnly]
