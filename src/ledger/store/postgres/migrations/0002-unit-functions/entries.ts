/**
 * An entry to be inserted together with all others of its batch: one statement for many costs a quarter as much as one
 * each.
 */
const booking = `CREATE TYPE booking AS (
  id text, kind text, account text, debit text, credit text, amount bigint, posted_after bigint, ref text, line bigint,
  request text, model text, sku text, units bigint, unit_price_pico_usd bigint, reason text, api_key text,
  budget_period text, budget_start_ms bigint, staking_day_ms bigint, created_at_ms bigint
)`

/**
 * The result of applying one operation: why it was refused, or the balance that it leaves, and the rows that it adds to
 * holds, ended holds and entries. The caller writes those.
 */
const verdict = `CREATE TYPE verdict AS (
  why text, account text, posted bigint, held bigint, opened hold, ended ended_hold, booked booking[]
)`

const writeRows = `CREATE FUNCTION write_rows(opened hold[], ended ended_hold[], booked booking[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(opened) > 0 THEN INSERT INTO hold SELECT o.* FROM unnest(opened) AS o; END IF;
  IF cardinality(ended) > 0 THEN INSERT INTO ended_hold SELECT e.* FROM unnest(ended) AS e; END IF;
  IF cardinality(booked) > 0 THEN
    INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
        unit_price_pico_usd, reason, api_key, budget_period, budget_start_ms, staking_day_ms, created_at_ms)
      SELECT b.* FROM unnest(booked) AS b;
  END IF;
END $$`

export const verdicts = [booking, verdict, writeRows]

/** Parameters of functions that need a balance: each account's balance after the operations of the batch so far. */
export const balanceParameters = 'known text[], known_posted bigint[], known_held bigint[]'

/** Reads a balance into \`answer\`: the batch's own, or that of an account that it has not used yet, which it locks. */
export const readBalance = (account: string, whereMissing: string): string => `
  seat := array_position(known, ${account});
  IF seat IS NULL THEN
    SELECT a.posted, a.held INTO answer.posted, answer.held FROM account a WHERE a.id = ${account} FOR NO KEY UPDATE;
    IF NOT FOUND THEN answer.why := '${whereMissing}'; RETURN answer; END IF;
  ELSE
    answer.posted := known_posted[seat];
    answer.held := known_held[seat];
  END IF;`

/**
 * The daily staking credits and the budgets of keys, in addition to an account's USD. A null limit is unlimited. The
 * caller has locked their account.
 */
const usedOfDay = `CREATE FUNCTION used_of_day(of_account text, of_day_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  used bigint;
BEGIN
  SELECT spent_usd + held_usd INTO used FROM staking_credit WHERE account = of_account AND day_ms = of_day_ms;
  RETURN coalesce(used, 0);
END $$`

/** The part of an amount that staking credit pays: what is left of the day, within what is left of the key's own limit. */
const stakingPart = `CREATE FUNCTION staking_part(
  amount bigint, of_account text, of_day_ms bigint, granted bigint, staking_limit bigint, used_by_key bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF of_day_ms IS NULL THEN RETURN 0; END IF;
  -- least() passes over a null, so a key without a limit has no say.
  RETURN greatest(0, least(amount, granted - used_of_day(of_account, of_day_ms), staking_limit - coalesce(used_by_key, 0)));
END $$`

const reserveFunds = `CREATE FUNCTION reserve_funds(
  usd bigint, staking bigint, of_account text, of_day_ms bigint, granted bigint,
  of_key text, of_period text, of_start_ms bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF of_day_ms IS NOT NULL THEN
    INSERT INTO staking_credit AS s (account, day_ms, granted_usd, held_usd)
      VALUES (of_account, of_day_ms, granted, staking)
      ON CONFLICT (account, day_ms) DO UPDATE
        SET granted_usd = excluded.granted_usd, held_usd = s.held_usd + excluded.held_usd;
  END IF;
  IF of_period IS NOT NULL THEN
    INSERT INTO key_use AS u (key, period, start_ms, held_usd, held_staking_usd)
      VALUES (of_key, of_period, of_start_ms, usd, staking)
      ON CONFLICT (key, period, start_ms) DO UPDATE
        SET held_usd = u.held_usd + excluded.held_usd,
          held_staking_usd = u.held_staking_usd + excluded.held_staking_usd;
  END IF;
END $$`

/**
 * Ends what was held from both sources; part of it was spent. A refund passes what is returned as negative spending.
 */
const moveFunds = `CREATE FUNCTION move_funds(
  usd_held bigint, staking_held bigint, usd_spent bigint, staking_spent bigint, of_account text, of_day_ms bigint,
  of_key text, of_period text, of_start_ms bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF of_day_ms IS NOT NULL THEN
    UPDATE staking_credit SET held_usd = held_usd - staking_held, spent_usd = spent_usd + staking_spent
      WHERE account = of_account AND day_ms = of_day_ms;
  END IF;
  IF of_period IS NOT NULL THEN
    UPDATE key_use SET held_usd = held_usd - usd_held, spent_usd = spent_usd + usd_spent,
        held_staking_usd = held_staking_usd - staking_held, spent_staking_usd = spent_staking_usd + staking_spent
      WHERE key = of_key AND period = of_period AND start_ms = of_start_ms;
  END IF;
END $$`

export const funds = [usedOfDay, stakingPart, reserveFunds, moveFunds]

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
  booked booking[] := '{}';
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
    booked := booked || ROW(unit_id || '.' || place, 'WRITE_OFF', answer.account, 'system:writeoff', answer.account,
      write_off, left_after, 'writeoff:' || of_request, 0, of_request, of_model, NULL, NULL, NULL, NULL,
      open_hold.api_key, open_hold.budget_period, open_hold.budget_start_ms, NULL, at_ms)::booking;
  END IF;
  IF staking > 0 THEN
    left_after := left_after + staking;
    booked := booked || ROW(unit_id || '.' || place + cardinality(booked), 'STAKING', answer.account, 'system:staking',
      answer.account, staking, left_after, 'staking:' || of_request, 0, of_request, of_model, NULL, NULL, NULL, NULL,
      open_hold.api_key, open_hold.budget_period, open_hold.budget_start_ms, open_hold.staking_day_ms,
      at_ms)::booking;
  END IF;
  FOR line IN 1 .. cardinality(amounts) LOOP
    left_after := left_after - amounts[line];
    booked := booked || ROW(unit_id || '.' || place + cardinality(booked), 'CHARGE', answer.account, answer.account,
      'system:revenue', amounts[line], left_after, 'charge:' || of_request, line - 1, of_request, of_model, skus[line],
      line_units[line], prices[line], NULL, open_hold.api_key, open_hold.budget_period, open_hold.budget_start_ms, NULL,
      at_ms)::booking;
  END LOOP;
  answer.booked := booked;
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
  answer.booked := ARRAY[ROW(unit_id || '.' || place, CASE source WHEN 'system:grant' THEN 'GRANT' ELSE 'TOP_UP' END,
    of_account, source, of_account, amount, answer.posted, of_ref, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, at_ms)::booking];
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
  answer.booked := ARRAY[ROW(unit_id || '.' || place, 'REFUND', answer.account, 'system:revenue', answer.account,
    charge.charged, answer.posted + staking, 'refund:' || of_request, 0, of_request, charge.model, NULL, NULL, NULL,
    of_reason, charge.api_key, charge.budget_period, charge.budget_start_ms, NULL, at_ms)::booking];
  IF day_ms IS NOT NULL THEN
    answer.booked := answer.booked || ROW(unit_id || '.' || place + 1, 'STAKING', answer.account, answer.account,
      'system:staking', staking, answer.posted, 'staking-back:' || of_request, 0, of_request, charge.model, NULL, NULL,
      NULL, of_reason, charge.api_key, charge.budget_period, charge.budget_start_ms, day_ms, at_ms)::booking;
  END IF;
  PERFORM move_funds(0, 0, staking - charge.charged, -staking, answer.account, day_ms, charge.api_key,
    charge.budget_period, charge.budget_start_ms);
  RETURN answer;
END $$`

export const entries = [applyCapture, applyCredit, applyRefund]
