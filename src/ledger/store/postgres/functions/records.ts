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
