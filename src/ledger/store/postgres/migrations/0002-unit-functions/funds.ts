/**
 * The daily staking credits and the budgets of keys, beside an account's USD. A limit that is null is none.
 * Whoever calls has locked the account that they belong to.
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

/** Ends what was held of both sources; some of it was spent. A refund passes what goes back as spent below zero. */
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
