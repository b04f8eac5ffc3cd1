/** An entry that waits to be inserted with all others of its batch: one statement for many costs a quarter of one each. */
const booking = `CREATE TYPE booking AS (
  id text, kind text, account text, debit text, credit text, amount bigint, posted_after bigint, ref text, line bigint,
  request text, model text, sku text, units bigint, unit_price_pico_usd bigint, reason text, api_key text,
  budget_period text, budget_start_ms bigint, staking_day_ms bigint, created_at_ms bigint
)`

/**
 * What applying one operation answers: why it was refused, or the balance that it leaves, and the rows that it adds to
 * holds, ended holds and entries. Whoever calls writes those.
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

/** Parameters of whoever needs a balance: what the batch has left of each account so far. */
export const balanceParameters = 'known text[], known_posted bigint[], known_held bigint[]'

/** Reads a balance into \`answer\`: the batch's own, or of an account that it has not met, which it locks. */
export const readBalance = (account: string, whereMissing: string): string => `
  seat := array_position(known, ${account});
  IF seat IS NULL THEN
    SELECT a.posted, a.held INTO answer.posted, answer.held FROM account a WHERE a.id = ${account} FOR NO KEY UPDATE;
    IF NOT FOUND THEN answer.why := '${whereMissing}'; RETURN answer; END IF;
  ELSE
    answer.posted := known_posted[seat];
    answer.held := known_held[seat];
  END IF;`
