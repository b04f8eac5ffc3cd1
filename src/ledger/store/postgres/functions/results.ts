/**
 * An entry to be inserted together with all others of its batch: one statement for many costs a quarter as much as one
 * each.
 */
const newEntry = `CREATE TYPE new_entry AS (
  id text, kind text, account text, debit text, credit text, amount bigint, posted_after bigint, ref text, line bigint,
  request text, model text, sku text, units bigint, unit_price_pico_usd bigint, reason text, api_key text,
  budget_period text, budget_start_ms bigint, staking_day_ms bigint, created_at_ms bigint
)`

/**
 * The result of applying one operation: why it was refused, or the balance that it leaves, and the rows that it adds to
 * holds, ended holds and entries. The caller writes those.
 */
const verdict = `CREATE TYPE verdict AS (
  why text, account text, posted bigint, held bigint, opened hold, ended ended_hold, added new_entry[]
)`

const writeRows = `CREATE FUNCTION write_rows(opened hold[], ended ended_hold[], added new_entry[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(opened) > 0 THEN INSERT INTO hold SELECT o.* FROM unnest(opened) AS o; END IF;
  IF cardinality(ended) > 0 THEN INSERT INTO ended_hold SELECT e.* FROM unnest(ended) AS e; END IF;
  IF cardinality(added) > 0 THEN
    INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
        unit_price_pico_usd, reason, api_key, budget_period, budget_start_ms, staking_day_ms, created_at_ms)
      SELECT b.* FROM unnest(added) AS b;
  END IF;
END $$`

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

const judgement = `CREATE TYPE judgement AS (
  op int, why text, balances text, accounts text[], posted bigint[], held bigint[]
)`

/**
 * A batch's results so far: the balances, per account; and per unit, its outcome if it was applied, whether that was
 * before this batch, and which operation was refused and why.
 */
const progress = `CREATE TYPE progress AS (
  known text[], posted bigint[], held bigint[], outcomes text[], again boolean[], ops int[], whys text[]
)`

const balanceText = `CREATE FUNCTION balance_text(account text, posted bigint, held bigint)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN '[' || to_json(account) || ',"' || posted || '","' || held || '"]';
END $$`

/** What functions return to each other. */
export const resultTypes: readonly string[] = [newEntry, verdict, writeRows, judgement, progress, balanceText]
