/**
 * Compare-and-set of rows by state and fence. An absent field stays unchanged; a null lease is cleared. The fields are
 * JSON, because these operations are rare compared with holds and captures. A job of a suspended account is not started;
 * what ends one, or frees its lease, goes on.
 */
const applyJob = `CREATE FUNCTION apply_job(job_id text, seen text, next text, seen_fence bigint, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  IF seen IS NULL THEN
    IF NOT EXISTS (SELECT FROM account a WHERE a.id = fields->>'account') THEN
      answer.why := 'no_account'; RETURN answer;
    END IF;
    IF EXISTS (SELECT FROM job j WHERE j.id = job_id)
      OR EXISTS (SELECT FROM job j WHERE j.request = fields->>'request') THEN
      answer.why := 'job_exists'; RETURN answer;
    END IF;
    INSERT INTO job (id, account, model, request, engine_state, result, failure, state, fence, lease_owner,
        lease_until_ms, created_at_ms, updated_at_ms)
      VALUES (job_id, fields->>'account', fields->>'model', fields->>'request', fields->>'engineState',
        fields->>'result', fields->>'failure', next, 1, fields #>> '{lease,owner}',
        (fields #>> '{lease,untilMs}')::bigint, at_ms, at_ms);
  ELSE
    IF next = 'running' AND fields #>> '{lease,owner}' IS NOT NULL AND EXISTS (
      SELECT FROM job j JOIN account a ON a.id = j.account
        WHERE j.id = job_id AND j.state = seen AND j.fence = seen_fence AND a.suspended_at_ms IS NOT NULL) THEN
      answer.why := 'suspended'; RETURN answer;
    END IF;
    UPDATE job SET model = coalesce(fields->>'model', model),
        engine_state = coalesce(fields->>'engineState', engine_state),
        result = coalesce(fields->>'result', result), failure = coalesce(fields->>'failure', failure),
        lease_owner = CASE WHEN fields ? 'lease' THEN fields #>> '{lease,owner}' ELSE lease_owner END,
        lease_until_ms =
          CASE WHEN fields ? 'lease' THEN (fields #>> '{lease,untilMs}')::bigint ELSE lease_until_ms END,
        state = next, fence = fence + 1, updated_at_ms = at_ms
      WHERE id = job_id AND state = seen AND fence = seen_fence;
    IF NOT FOUND THEN answer.why := 'job_moved'; RETURN answer; END IF;
  END IF;
  IF fields->'input' = 'null' THEN
    DELETE FROM job_input WHERE job = job_id;
  ELSIF fields ? 'input' THEN
    INSERT INTO job_input (job, input) VALUES (job_id, fields->>'input')
      ON CONFLICT (job) DO UPDATE SET input = excluded.input;
  END IF;
  RETURN answer;
END $$`

const applyPayment = `CREATE FUNCTION apply_payment(
  payment_id text, seen text, next text, seen_fence bigint, fields jsonb, at_ms bigint
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  IF seen IS NULL THEN
    IF EXISTS (SELECT FROM payment p WHERE p.id = payment_id) THEN
      answer.why := 'payment_exists'; RETURN answer;
    END IF;
    INSERT INTO payment (id, network, payer, amount, payload, valid_before_seconds, transaction_id, answer,
        lease_owner, lease_until_ms, state, fence, created_at_ms, updated_at_ms)
      VALUES (payment_id, fields->>'network', fields->>'payer', (fields->>'amount')::bigint, fields->>'payload',
        (fields->>'validBeforeSeconds')::bigint, fields->>'transaction', fields->>'answer',
        fields #>> '{lease,owner}', (fields #>> '{lease,untilMs}')::bigint, next, 1, at_ms, at_ms);
    RETURN answer;
  END IF;
  UPDATE payment p SET network = coalesce(fields->>'network', p.network), payer = coalesce(fields->>'payer', p.payer),
      amount = coalesce((fields->>'amount')::bigint, p.amount), payload = coalesce(fields->>'payload', p.payload),
      valid_before_seconds = coalesce((fields->>'validBeforeSeconds')::bigint, p.valid_before_seconds),
      transaction_id = coalesce(fields->>'transaction', p.transaction_id),
      answer = coalesce(fields->>'answer', p.answer),
      lease_owner = CASE WHEN fields ? 'lease' THEN fields #>> '{lease,owner}' ELSE p.lease_owner END,
      lease_until_ms =
        CASE WHEN fields ? 'lease' THEN (fields #>> '{lease,untilMs}')::bigint ELSE p.lease_until_ms END,
      state = next, fence = p.fence + 1, updated_at_ms = at_ms
    WHERE p.id = payment_id AND p.state = seen AND p.fence = seen_fence;
  IF NOT FOUND THEN answer.why := 'payment_moved'; END IF;
  RETURN answer;
END $$`

/** A claim that is given up leaves nothing. */
const applyClaim = `CREATE FUNCTION apply_claim(
  claim_id text, seen text, next text, seen_fence bigint, fields jsonb, at_ms bigint
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  IF seen IS NULL THEN
    IF NOT EXISTS (SELECT FROM account a WHERE a.id = fields->>'account') THEN
      answer.why := 'no_account'; RETURN answer;
    END IF;
    IF EXISTS (SELECT FROM claim c WHERE c.id = claim_id) THEN answer.why := 'claim_exists'; RETURN answer; END IF;
    INSERT INTO claim (id, account, request, fingerprint, state, fence, lease_owner, lease_until_ms, created_at_ms,
        updated_at_ms)
      VALUES (claim_id, fields->>'account', fields->>'request', fields->>'fingerprint', next, 1,
        fields #>> '{lease,owner}', (fields #>> '{lease,untilMs}')::bigint, at_ms, at_ms);
  ELSE
    IF next = 'gone' THEN
      DELETE FROM claim WHERE id = claim_id AND state = seen AND fence = seen_fence;
    ELSE
      UPDATE claim SET
          lease_owner = CASE WHEN fields ? 'lease' THEN fields #>> '{lease,owner}' ELSE lease_owner END,
          lease_until_ms =
            CASE WHEN fields ? 'lease' THEN (fields #>> '{lease,untilMs}')::bigint ELSE lease_until_ms END,
          state = next, fence = fence + 1, updated_at_ms = at_ms
        WHERE id = claim_id AND state = seen AND fence = seen_fence;
    END IF;
    IF NOT FOUND THEN answer.why := 'claim_moved'; RETURN answer; END IF;
  END IF;
  IF next = 'done' THEN INSERT INTO claim_answer (claim, answer) VALUES (claim_id, fields->>'answer'); END IF;
  RETURN answer;
END $$`

/** Jobs, payments and claims, which move from state to state. */
export const workFunctions: readonly string[] = [applyJob, applyPayment, applyClaim]
