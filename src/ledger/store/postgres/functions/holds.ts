import { balanceParameters, readBalance } from './operations.ts'

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

/** Checks come first and in the contract's order; a refusal has written nothing. */
const applyHold = `CREATE FUNCTION apply_hold(
  hold_id text, of_account text, amount bigint, owner text, until_ms bigint, of_key text, epoch_ms bigint,
  month_ms bigint, of_day_ms bigint, granted bigint, most_open bigint, is_read_only boolean, at_ms bigint,
  unwritten text[], ${balanceParameters}
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  seat int;
  caller record;
  counted_period text;
  counted_from_ms bigint;
  usd_limit bigint;
  staking_limit bigint;
  used_usd bigint;
  used_staking bigint;
  staking bigint;
BEGIN${readBalance('of_account', 'no_account')}
  IF of_key IS NOT NULL THEN
    SELECT k.account, k.revoked_at_ms, k.budget_period, k.budget_usd, k.budget_staking_usd INTO caller
      FROM api_key k WHERE k.id = of_key;
    IF NOT FOUND OR caller.account <> of_account OR caller.revoked_at_ms IS NOT NULL THEN
      answer.why := 'no_key'; RETURN answer;
    END IF;
    counted_period := caller.budget_period;
  END IF;
  IF EXISTS (SELECT FROM hold h WHERE h.id = hold_id) OR EXISTS (SELECT FROM ended_hold e WHERE e.id = hold_id) THEN
    answer.why := 'hold_exists'; RETURN answer;
  END IF;
  IF EXISTS (SELECT FROM account a WHERE a.id = of_account AND a.suspended_at_ms IS NOT NULL) THEN
    answer.why := 'suspended'; RETURN answer;
  END IF;
  IF is_read_only THEN answer.why := 'read_only'; RETURN answer; END IF;
  IF most_open IS NOT NULL AND (SELECT count(*) FROM hold h WHERE h.account = of_account)
    + coalesce(cardinality(array_positions(unwritten, of_account)), 0) >= most_open THEN
    answer.why := 'too_many_open'; RETURN answer;
  END IF;
  IF counted_period IS NOT NULL THEN
    counted_from_ms := CASE counted_period WHEN 'epoch' THEN epoch_ms WHEN 'month' THEN month_ms ELSE 0 END;
    usd_limit := caller.budget_usd;
    staking_limit := caller.budget_staking_usd;
    SELECT u.spent_usd + u.held_usd, u.spent_staking_usd + u.held_staking_usd INTO used_usd, used_staking
      FROM key_use u WHERE u.key = of_key AND u.period = counted_period AND u.start_ms = counted_from_ms;
  END IF;
  staking := staking_part(amount, of_account, of_day_ms, granted, staking_limit, used_staking);
  IF answer.posted - answer.held < amount - staking THEN answer.why := 'insufficient_funds'; RETURN answer; END IF;
  IF usd_limit - coalesce(used_usd, 0) < amount - staking THEN answer.why := 'over_budget'; RETURN answer; END IF;
  answer.opened := ROW(hold_id, of_account, amount, staking, of_day_ms, of_key, counted_period, counted_from_ms, NULL,
    owner, until_ms, at_ms, usd_limit, staking_limit)::hold;
  IF of_day_ms IS NOT NULL OR counted_period IS NOT NULL THEN
    PERFORM reserve_funds(amount - staking, staking, of_account, of_day_ms, granted, of_key, counted_period, counted_from_ms);
  END IF;
  answer.account := of_account;
  answer.held := answer.held + amount - staking;
  RETURN answer;
END $$`

/**
 * From the hold's own day and period. The lower of two limits counts, the hold's own and its key's of today, so that
 * lowering a budget also applies to calls in flight.
 */
const applyExtend = `CREATE FUNCTION apply_extend(
  hold_id text, more bigint, is_read_only boolean, ${balanceParameters}
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  seat int;
  open_hold hold;
  granted bigint;
  usd_limit bigint;
  staking_limit bigint;
  used_usd bigint;
  used_staking bigint;
  staking bigint;
BEGIN
  SELECT * INTO open_hold FROM hold h WHERE h.id = hold_id;
  IF NOT FOUND THEN answer.why := 'no_hold'; RETURN answer; END IF;${readBalance('open_hold.account', 'no_hold')}
  IF EXISTS (SELECT FROM account a WHERE a.id = open_hold.account AND a.suspended_at_ms IS NOT NULL) THEN
    answer.why := 'suspended'; RETURN answer;
  END IF;
  IF is_read_only THEN answer.why := 'read_only'; RETURN answer; END IF;
  IF open_hold.staking_day_ms IS NOT NULL THEN
    SELECT s.granted_usd INTO granted FROM staking_credit s
      WHERE s.account = open_hold.account AND s.day_ms = open_hold.staking_day_ms;
  END IF;
  IF open_hold.budget_period IS NOT NULL THEN
    -- least() passes over a null, which is no limit.
    SELECT least(k.budget_usd, open_hold.budget_usd), least(k.budget_staking_usd, open_hold.budget_staking_usd)
      INTO usd_limit, staking_limit FROM api_key k WHERE k.id = open_hold.api_key;
    SELECT u.spent_usd + u.held_usd, u.spent_staking_usd + u.held_staking_usd INTO used_usd, used_staking
      FROM key_use u WHERE u.key = open_hold.api_key AND u.period = open_hold.budget_period
        AND u.start_ms = open_hold.budget_start_ms;
  END IF;
  staking := staking_part(
    more, open_hold.account, open_hold.staking_day_ms, granted, staking_limit, used_staking);
  IF answer.posted - answer.held < more - staking THEN answer.why := 'insufficient_funds'; RETURN answer; END IF;
  IF usd_limit - coalesce(used_usd, 0) < more - staking THEN answer.why := 'over_budget'; RETURN answer; END IF;
  UPDATE hold SET amount = amount + more, staking_usd = staking_usd + staking WHERE id = hold_id;
  IF NOT FOUND THEN RAISE EXCEPTION 'hold % has ended meanwhile', hold_id; END IF;
  PERFORM reserve_funds(more - staking, staking, open_hold.account, open_hold.staking_day_ms, granted,
    open_hold.api_key, open_hold.budget_period, open_hold.budget_start_ms);
  answer.account := open_hold.account;
  answer.held := answer.held + more - staking;
  RETURN answer;
END $$`

/** Ending a lapsed hold reads its lease while its account is locked, so renewing the lease locks the account too. */
const applyRenew = `CREATE FUNCTION apply_renew(hold_id text, owner text, until_ms bigint, owed_now text)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  owned_by text;
  of_account text;
  since_ms bigint;
BEGIN
  SELECT h.lease_owner, h.account INTO owned_by, of_account FROM hold h WHERE h.id = hold_id;
  IF NOT FOUND THEN answer.why := 'no_hold'; RETURN answer; END IF;
  IF owned_by <> owner THEN answer.why := 'not_owner'; RETURN answer; END IF;
  SELECT a.suspended_at_ms INTO since_ms FROM account a WHERE a.id = of_account FOR NO KEY UPDATE;
  IF since_ms IS NOT NULL THEN answer.why := 'suspended'; RETURN answer; END IF;
  UPDATE hold SET lease_until_ms = until_ms, owed = coalesce(owed_now, owed) WHERE id = hold_id;
  IF NOT FOUND THEN RAISE EXCEPTION 'hold % has ended meanwhile', hold_id; END IF;
  RETURN answer;
END $$`

/**
 * Frees the whole hold; the spent part is gone. Returns the balance after it. The freed amount and the lease were read
 * before the account was locked, so the row must still have the same values.
 */
const endHold = `CREATE FUNCTION end_hold(
  open_hold hold, ended_how text, usd_spent bigint, staking_spent bigint, ${balanceParameters}
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  seat int;
  usd_held bigint := open_hold.amount - open_hold.staking_usd;
BEGIN${readBalance('open_hold.account', 'no_hold')}
  answer.account := open_hold.account;
  answer.posted := answer.posted - usd_spent;
  answer.held := answer.held - usd_held;
  DELETE FROM hold h WHERE h.id = open_hold.id AND h IS NOT DISTINCT FROM open_hold;
  -- Only where the hold became visible after the accounts were locked; then the units are judged once more.
  IF NOT FOUND THEN RAISE EXCEPTION 'hold % has moved meanwhile', open_hold.id; END IF;
  answer.ended := ROW(open_hold.id, ended_how)::ended_hold;
  IF open_hold.staking_day_ms IS NOT NULL OR open_hold.budget_period IS NOT NULL THEN
    PERFORM move_funds(usd_held, open_hold.staking_usd, usd_spent, staking_spent, open_hold.account,
      open_hold.staking_day_ms, open_hold.api_key, open_hold.budget_period, open_hold.budget_start_ms);
  END IF;
  RETURN answer;
END $$`

const applyRelease = `CREATE FUNCTION apply_release(hold_id text, expired_at_ms bigint, ${balanceParameters})
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  open_hold hold;
BEGIN
  SELECT * INTO open_hold FROM hold h WHERE h.id = hold_id;
  IF NOT FOUND THEN answer.why := 'no_hold'; RETURN answer; END IF;
  IF open_hold.lease_until_ms > expired_at_ms THEN answer.why := 'lease_live'; RETURN answer; END IF;
  RETURN end_hold(open_hold, 'released', 0, 0, known, known_posted, known_held);
END $$`

/** Also the daily staking credits and the budgets of keys, which holds reserve. */
export const holdFunctions: readonly string[] = [
  usedOfDay,
  stakingPart,
  reserveFunds,
  moveFunds,
  applyHold,
  applyExtend,
  applyRenew,
  endHold,
  applyRelease,
]
