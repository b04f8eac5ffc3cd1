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

/** Every operation of a batch, one array per column; `batch-columns.ts` describes the columns for each operation. */
const columns = [
  ...['kinds text[]', 'names text[]', 'accounts text[]', 'amounts bigint[]', 'times_ms bigint[]', 'owners text[]'],
  ...['until_ms bigint[]', 'keys text[]', 'epochs_ms bigint[]', 'months_ms bigint[]', 'days_ms bigint[]'],
  ...['granted bigint[]', 'most_open bigint[]', 'expired_at_ms bigint[]', 'requests text[]', 'words text[]'],
  ...['write_offs bigint[]', 'fields text[]', 'first_lines int[]', 'line_counts int[]'],
  ...['flushes boolean[]', 'skus text[]', 'line_units bigint[]', 'prices bigint[]', 'line_amounts bigint[]'],
]

export const declaredColumns = columns.join(', ')

export const passedColumns = columns.map(column => column.split(' ')[0]).join(', ')

const applyOp = `CREATE FUNCTION apply_op(
  i int, unit_id text, place int, is_read_only boolean, unwritten text[], ${balanceParameters}, ${declaredColumns}
) RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  first int := first_lines[i];
  last int := first_lines[i] + line_counts[i] - 1;
BEGIN
  CASE kinds[i]
    WHEN 'hold' THEN
      RETURN apply_hold(names[i], accounts[i], amounts[i], owners[i], until_ms[i], keys[i], epochs_ms[i], months_ms[i],
        days_ms[i], granted[i], most_open[i], is_read_only, times_ms[i], unwritten, known, known_posted, known_held);
    WHEN 'capture' THEN
      RETURN apply_capture(unit_id, place, names[i], requests[i], words[i], amounts[i], write_offs[i],
        expired_at_ms[i], times_ms[i], skus[first:last], line_units[first:last], prices[first:last],
        line_amounts[first:last], known, known_posted, known_held);
    WHEN 'extend' THEN RETURN apply_extend(names[i], amounts[i], is_read_only, known, known_posted, known_held);
    WHEN 'renew' THEN RETURN apply_renew(names[i], owners[i], until_ms[i], fields[i]);
    WHEN 'release' THEN RETURN apply_release(names[i], expired_at_ms[i], known, known_posted, known_held);
    WHEN 'credit' THEN
      RETURN apply_credit(unit_id, place, accounts[i], amounts[i], words[i], names[i], times_ms[i], known, known_posted,
        known_held);
    WHEN 'refund' THEN
      RETURN apply_refund(unit_id, place, requests[i], words[i], times_ms[i], known, known_posted, known_held);
    WHEN 'nonce' THEN RETURN apply_nonce(names[i], until_ms[i]);
    WHEN 'claim' THEN
      RETURN apply_claim(names[i], owners[i], words[i], amounts[i], fields[i]::jsonb, times_ms[i]);
    WHEN 'job' THEN
      RETURN apply_job(names[i], owners[i], words[i], amounts[i], fields[i]::jsonb, times_ms[i]);
    WHEN 'payment' THEN
      RETURN apply_payment(names[i], owners[i], words[i], amounts[i], fields[i]::jsonb, times_ms[i]);
    WHEN 'account' THEN RETURN apply_account(accounts[i], words[i], times_ms[i]);
    WHEN 'wallet' THEN RETURN apply_wallet(names[i], accounts[i], times_ms[i]);
    WHEN 'key' THEN RETURN apply_key(names[i], accounts[i], fields[i]::jsonb, times_ms[i]);
    WHEN 'keyBudget' THEN RETURN apply_key_budget(names[i], fields[i]::jsonb);
    WHEN 'revokeKey' THEN RETURN apply_revoke_key(names[i], times_ms[i]);
    WHEN 'limit' THEN RETURN apply_limit(accounts[i], fields[i]::jsonb, times_ms[i]);
    WHEN 'ledger' THEN RETURN apply_ledger(words[i], fields[i], times_ms[i]);
    WHEN 'secret' THEN RETURN apply_secret(amounts[i], names[i], words[i], times_ms[i]);
    WHEN 'receiptKey' THEN RETURN apply_receipt_key(names[i], words[i], times_ms[i]);
    WHEN 'customer' THEN RETURN apply_customer(accounts[i], fields[i]::jsonb, times_ms[i]);
    WHEN 'suspend' THEN RETURN apply_suspend(accounts[i], words[i], times_ms[i]);
    WHEN 'resume' THEN RETURN apply_resume(accounts[i]);
    WHEN 'act' THEN RETURN apply_act(accounts[i], words[i], fields[i]::jsonb, times_ms[i]);
    WHEN 'operator' THEN RETURN apply_operator(names[i], amounts[i], fields[i]::jsonb, times_ms[i]);
    ELSE RETURN ROW('invalid', NULL, NULL, NULL, NULL, NULL, NULL)::verdict;
  END CASE;
END $$`

/**
 * Applies several operations, completely or not at all: what each of them adds is written at once, so that the next one
 * finds it. Its own error undoes everything; any other is passed on.
 */
const applyTogether = `CREATE FUNCTION apply_together(
  first_op int, last_op int, unit_id text, ${balanceParameters}, ${declaredColumns}
) RETURNS judgement LANGUAGE plpgsql AS $$
DECLARE
  answer judgement;
  verdict verdict;
  seat int;
  place int := 0;
  read_only boolean := is_read_only();
  balances text[] := '{}';
BEGIN
  answer.accounts := '{}';
  FOR i IN first_op .. last_op LOOP
    verdict := apply_op(i, unit_id, place, read_only, '{}', known, known_posted, known_held, ${passedColumns});
    IF verdict.why IS NOT NULL THEN
      answer.op := i - first_op;
      answer.why := verdict.why;
      RAISE SQLSTATE 'FB001';
    END IF;
    PERFORM write_rows(CASE WHEN (verdict.opened).id IS NOT NULL THEN ARRAY[verdict.opened] END,
      CASE WHEN (verdict.ended).id IS NOT NULL THEN ARRAY[verdict.ended] END, verdict.added);
    place := place + coalesce(cardinality(verdict.added), 0);
    IF verdict.account IS NOT NULL THEN
      seat := coalesce(array_position(known, verdict.account), cardinality(known) + 1);
      known[seat] := verdict.account;
      known_posted[seat] := verdict.posted;
      known_held[seat] := verdict.held;
      seat := coalesce(array_position(answer.accounts, verdict.account), cardinality(answer.accounts) + 1);
      answer.accounts[seat] := verdict.account;
      answer.posted[seat] := verdict.posted;
      answer.held[seat] := verdict.held;
      balances[seat] := balance_text(verdict.account, verdict.posted, verdict.held);
    END IF;
    IF kinds[i] = 'ledger' THEN read_only := is_read_only(); END IF;
  END LOOP;
  answer.balances := '[' || array_to_string(balances, ',') || ']';
  RETURN answer;
EXCEPTION WHEN SQLSTATE 'FB001' THEN
  RETURN answer;
END $$`

export const operationFunctions: readonly string[] = [applyOp, applyTogether]
