import { balanceParameters, readBalance } from './operations.ts'

/** What others pay comes before the lines, so that no row leaves a negative balance. */
const applyCapture = `CREATE FUNCTION apply_capture(
  unit_id text, place int, hold_id text, of_request text, of_model text, total bigint, write_off bigint,
  expired_at_ms bigint, at_ms bigint, skus text[], line_units bigint[], prices bigint[], amounts bigint[],
  ${balanceParameters}
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  open_hold hold;
  charged bigint := total - write_off;
  staking bigint;
  left_after bigint;
  added new_entry[] := '{}';
BEGIN
  SELECT * INTO open_hold FROM hold h WHERE h.id = hold_id;
  IF NOT FOUND THEN answer.why := 'no_hold'; RETURN answer; END IF;
  IF open_hold.lease_until_ms > expired_at_ms THEN answer.why := 'lease_live'; RETURN answer; END IF;
  IF cardinality(amounts) = 0 THEN RETURN end_hold(open_hold, 'released', 0, 0, known, known_posted, known_held); END IF;
  IF EXISTS (SELECT FROM entry e WHERE e.ref = 'charge:' || of_request) THEN
    answer.why := 'request_charged'; RETURN answer;
  END IF;
  IF charged > open_hold.amount THEN answer.why := 'over_hold'; RETURN answer; END IF;
  staking := least(charged, open_hold.staking_usd);
  answer := end_hold(open_hold, 'captured', charged - staking, staking, known, known_posted, known_held);
  left_after := answer.posted + charged - staking;
  IF write_off > 0 THEN
    left_after := left_after + write_off;
    added := added || ROW(unit_id || '.' || place, 'WRITE_OFF', answer.account, 'system:writeoff', answer.account,
      write_off, left_after, 'writeoff:' || of_request, 0, of_request, of_model, NULL, NULL, NULL, NULL,
      open_hold.api_key, open_hold.budget_period, open_hold.budget_start_ms, NULL, at_ms)::new_entry;
  END IF;
  IF staking > 0 THEN
    left_after := left_after + staking;
    added := added || ROW(unit_id || '.' || place + cardinality(added), 'STAKING', answer.account, 'system:staking',
      answer.account, staking, left_after, 'staking:' || of_request, 0, of_request, of_model, NULL, NULL, NULL, NULL,
      open_hold.api_key, open_hold.budget_period, open_hold.budget_start_ms, open_hold.staking_day_ms,
      at_ms)::new_entry;
  END IF;
  FOR line IN 1 .. cardinality(amounts) LOOP
    left_after := left_after - amounts[line];
    added := added || ROW(unit_id || '.' || place + cardinality(added), 'CHARGE', answer.account, answer.account,
      'system:revenue', amounts[line], left_after, 'charge:' || of_request, line - 1, of_request, of_model, skus[line],
      line_units[line], prices[line], NULL, open_hold.api_key, open_hold.budget_period, open_hold.budget_start_ms, NULL,
      at_ms)::new_entry;
  END LOOP;
  answer.added := added;
  RETURN answer;
END $$`

const applyCredit = `CREATE FUNCTION apply_credit(
  unit_id text, place int, of_account text, amount bigint, source text, of_ref text, at_ms bigint,
  ${balanceParameters}
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  seat int;
BEGIN${readBalance('of_account', 'no_account')}
  IF EXISTS (SELECT FROM entry e WHERE e.ref = of_ref) THEN answer.why := 'ref_exists'; RETURN answer; END IF;
  answer.account := of_account;
  answer.posted := answer.posted + amount;
  answer.added := ARRAY[ROW(unit_id || '.' || place, CASE source WHEN 'system:grant' THEN 'GRANT' ELSE 'TOP_UP' END,
    of_account, source, of_account, amount, answer.posted, of_ref, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, at_ms)::new_entry];
  RETURN answer;
END $$`

/** Returns a charge to its sources. */
const applyRefund = `CREATE FUNCTION apply_refund(
  unit_id text, place int, of_request text, of_reason text, at_ms bigint, ${balanceParameters}
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  seat int;
  charge record;
  staking bigint;
  day_ms bigint;
BEGIN
  SELECT min(e.account) AS account, min(e.model) AS model, min(e.api_key) AS api_key,
      min(e.budget_period) AS budget_period, min(e.budget_start_ms) AS budget_start_ms,
      sum(CASE e.kind WHEN 'CHARGE' THEN e.amount ELSE -e.amount END)::bigint AS charged INTO charge
    FROM entry e WHERE e.ref IN ('charge:' || of_request, 'writeoff:' || of_request);
  IF charge.account IS NULL THEN answer.why := 'nothing_to_refund'; RETURN answer; END IF;${readBalance('charge.account', 'nothing_to_refund')}
  IF EXISTS (SELECT FROM entry e WHERE e.ref = 'refund:' || of_request) THEN
    answer.why := 'refunded'; RETURN answer;
  END IF;
  SELECT e.amount, e.staking_day_ms INTO staking, day_ms FROM entry e WHERE e.ref = 'staking:' || of_request;
  staking := coalesce(staking, 0);
  answer.account := charge.account;
  answer.posted := answer.posted + charge.charged - staking;
  answer.added := ARRAY[ROW(unit_id || '.' || place, 'REFUND', answer.account, 'system:revenue', answer.account,
    charge.charged, answer.posted + staking, 'refund:' || of_request, 0, of_request, charge.model, NULL, NULL, NULL,
    of_reason, charge.api_key, charge.budget_period, charge.budget_start_ms, NULL, at_ms)::new_entry];
  IF day_ms IS NOT NULL THEN
    answer.added := answer.added || ROW(unit_id || '.' || place + 1, 'STAKING', answer.account, answer.account,
      'system:staking', staking, answer.posted, 'staking-back:' || of_request, 0, of_request, charge.model, NULL, NULL,
      NULL, of_reason, charge.api_key, charge.budget_period, charge.budget_start_ms, day_ms, at_ms)::new_entry;
  END IF;
  PERFORM move_funds(0, 0, staking - charge.charged, -staking, answer.account, day_ms, charge.api_key,
    charge.budget_period, charge.budget_start_ms);
  RETURN answer;
END $$`

/** The operations that write entries. */
export const entryFunctions: readonly string[] = [applyCapture, applyCredit, applyRefund]

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

const foldEntries = (create: string, check = '') => `${create} FUNCTION fold_entries(
  of_account text, first_seq bigint, last_seq bigint, entries bigint, before_time_ms bigint, sums text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before jsonb;
  gone bigint;
BEGIN
  -- A concurrent fold waits here for this one.
  INSERT INTO compaction AS c VALUES (1, before_time_ms, true)
    ON CONFLICT (one) DO UPDATE SET before_ms = greatest(c.before_ms, before_time_ms), folding = true;${check}
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

/** Replaces entries of old months by their sums. */
export const foldFunctions: readonly string[] = [moneyOfEntries, foldEntries('CREATE')]

/** A refund of one of these calls waits for the account's lock and then finds no charge, or is found here. */
const refuseRefunded = `
  PERFORM FROM account a WHERE a.id = of_account FOR NO KEY UPDATE;
  IF EXISTS (SELECT FROM entry e JOIN entry r ON r.ref = 'refund:' || e.request
      WHERE e.account = of_account AND e.seq BETWEEN first_seq AND last_seq) THEN
    RAISE EXCEPTION 'a call was refunded after its entries were read';
  END IF;`

/** Since the second migration, a call that is refunded while it is folded keeps its charge. */
export const foldChecksRefunds: readonly string[] = [foldEntries('CREATE OR REPLACE', refuseRefunded)]
