/**
 * One order for every process, so that none waits for another in a circle: accounts by id, jobs by id, then names that
 * may have no row yet, by their hashes. Accounts of holds, keys and charges are looked up here.
 */
const lockAll = `CREATE FUNCTION lock_all(
  accounts text[], of_holds text[], of_keys text[], of_charges text[], jobs text[], free_names text[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(of_holds) > 0 THEN
    accounts := accounts || ARRAY(SELECT h.account FROM hold h WHERE h.id = ANY (of_holds));
  END IF;
  IF cardinality(of_keys) > 0 THEN
    accounts := accounts || ARRAY(SELECT k.account FROM api_key k WHERE k.id = ANY (of_keys));
  END IF;
  IF cardinality(of_charges) > 0 THEN
    accounts := accounts || ARRAY(SELECT e.account FROM entry e WHERE e.ref = ANY (of_charges) AND e.line = 0);
  END IF;
  PERFORM FROM account a WHERE a.id = ANY (accounts) ORDER BY a.id FOR NO KEY UPDATE;
  IF cardinality(jobs) > 0 THEN
    PERFORM FROM job j WHERE j.id = ANY (jobs) ORDER BY j.id FOR NO KEY UPDATE;
  END IF;
  IF cardinality(free_names) > 0 THEN
    PERFORM pg_advisory_xact_lock(sorted.hash) FROM (
      SELECT DISTINCT hashtextextended(n.name, 0) AS hash FROM unnest(free_names) AS n (name) ORDER BY hash
    ) sorted;
  END IF;
END $$`

/** Every operation of a batch, one array a column; what the columns hold for each operation is in \`batch-columns.ts\`. */
const columns = [
  ...['kinds text[]', 'names text[]', 'accounts text[]', 'amounts bigint[]', 'times_ms bigint[]', 'owners text[]'],
  ...['until_ms bigint[]', 'keys text[]', 'epochs_ms bigint[]', 'months_ms bigint[]', 'days_ms bigint[]'],
  ...['granted bigint[]', 'most_open bigint[]', 'expired_at_ms bigint[]', 'requests text[]', 'words text[]'],
  ...['write_offs bigint[]', 'fields text[]', 'first_lines int[]', 'line_counts int[]'],
  ...['skus text[]', 'line_units bigint[]', 'prices bigint[]', 'line_amounts bigint[]'],
]
const declared = columns.join(', ')
const passed = columns.map(column => column.split(' ')[0]).join(', ')

const applyOp = `CREATE FUNCTION apply_op(i int, unit_id text, place int, is_read_only boolean, ${declared})
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  first int := first_lines[i];
  last int := first_lines[i] + line_counts[i] - 1;
BEGIN
  CASE kinds[i]
    WHEN 'hold' THEN
      RETURN apply_hold(names[i], accounts[i], amounts[i], owners[i], until_ms[i], keys[i], epochs_ms[i], months_ms[i],
        days_ms[i], granted[i], most_open[i], is_read_only, times_ms[i]);
    WHEN 'capture' THEN
      RETURN apply_capture(unit_id, place, names[i], requests[i], words[i], amounts[i], write_offs[i],
        expired_at_ms[i], times_ms[i], skus[first:last], line_units[first:last], prices[first:last],
        line_amounts[first:last]);
    WHEN 'extend' THEN RETURN apply_extend(names[i], amounts[i], is_read_only);
    WHEN 'renew' THEN RETURN apply_renew(names[i], owners[i], until_ms[i], fields[i]);
    WHEN 'release' THEN RETURN apply_release(names[i], expired_at_ms[i]);
    WHEN 'credit' THEN
      RETURN apply_credit(unit_id, place, accounts[i], amounts[i], words[i], names[i], times_ms[i]);
    WHEN 'refund' THEN RETURN apply_refund(unit_id, place, requests[i], words[i], times_ms[i]);
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
    ELSE RETURN ROW('invalid', NULL, NULL, NULL, NULL)::verdict;
  END CASE;
END $$`

const balanceText = `CREATE FUNCTION balance_text(account text, posted bigint, held bigint)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN '[' || to_json(account) || ',"' || posted || '","' || held || '"]';
END $$`

/** Several operations, whole or not at all. Its own errors undo what it has written; any other one is passed on. */
const applyTogether = `CREATE FUNCTION apply_together(first_op int, last_op int, unit_id text, ${declared})
RETURNS judgement LANGUAGE plpgsql AS $$
DECLARE
  answer judgement;
  verdict verdict;
  touched text[] := '{}';
  balances text[] := '{}';
  seen int;
  place int := 0;
  read_only boolean := is_read_only();
BEGIN
  FOR i IN first_op .. last_op LOOP
    verdict := apply_op(i, unit_id, place, read_only, ${passed});
    IF verdict.why IS NOT NULL THEN
      answer.op := i - first_op;
      answer.why := verdict.why;
      RAISE SQLSTATE 'FB001';
    END IF;
    place := place + coalesce(verdict.entries, 0);
    IF verdict.account IS NOT NULL THEN
      seen := coalesce(array_position(touched, verdict.account), cardinality(touched) + 1);
      touched[seen] := verdict.account;
      balances[seen] := balance_text(verdict.account, verdict.posted, verdict.held);
    END IF;
    IF kinds[i] = 'ledger' THEN read_only := is_read_only(); END IF;
  END LOOP;
  answer.balances := '[' || array_to_string(balances, ',') || ']';
  RETURN answer;
EXCEPTION WHEN SQLSTATE 'FB001' THEN
  RETURN answer;
END $$`

/**
 * Applies units in their order in one transaction, and answers one row a unit. A unit without operations is only looked
 * up. The outcomes are read in a statement after the locks, because a unit that is sent again may race its first sending.
 */
const commitUnits = `CREATE FUNCTION commit_units(
  unit_ids text[], unit_ops int[], unit_twins int[],
  lock_accounts text[], lock_holds text[], lock_keys text[], lock_charges text[], lock_jobs text[], lock_names text[],
  ${declared}
) RETURNS TABLE (again boolean, op int, why text, balances text) LANGUAGE plpgsql AS $$
DECLARE
  known text[];
  answer judgement;
  verdict verdict;
  applied text[] := '{}';
  applied_balances text[] := '{}';
  first_op int := 1;
  read_only boolean;
BEGIN
  PERFORM lock_all(lock_accounts, lock_holds, lock_keys, lock_charges, lock_jobs, lock_names);
  known := ARRAY(
    SELECT (SELECT u.balances FROM unit u WHERE u.id = sent.id)
    FROM unnest(unit_ids) WITH ORDINALITY AS sent (id, place) ORDER BY sent.place);
  read_only := is_read_only();
  FOR n IN 1 .. cardinality(unit_ids) LOOP
    IF known[n] IS NULL AND unit_twins[n] > 0 THEN known[n] := known[unit_twins[n]]; END IF;
    again := known[n] IS NOT NULL;
    answer := NULL;
    IF again THEN
      answer.balances := known[n];
    ELSIF unit_ops[n] = 1 THEN
      verdict := apply_op(first_op, unit_ids[n], 0, read_only, ${passed});
      answer.op := 0;
      answer.why := verdict.why;
      answer.balances := CASE WHEN verdict.why IS NOT NULL THEN NULL WHEN verdict.account IS NULL THEN '[]'
        ELSE '[' || balance_text(verdict.account, verdict.posted, verdict.held) || ']' END;
      IF kinds[first_op] = 'ledger' THEN read_only := is_read_only(); END IF;
    ELSIF unit_ops[n] > 1 THEN
      answer := apply_together(first_op, first_op + unit_ops[n] - 1, unit_ids[n], ${passed});
      IF 'ledger' = ANY (kinds) THEN read_only := is_read_only(); END IF;
    END IF;
    IF NOT again AND answer.balances IS NOT NULL THEN
      known[n] := answer.balances;
      applied := applied || unit_ids[n];
      applied_balances := applied_balances || answer.balances;
    END IF;
    op := answer.op;
    why := answer.why;
    balances := answer.balances;
    first_op := first_op + unit_ops[n];
    RETURN NEXT;
  END LOOP;
  INSERT INTO unit (id, balances) SELECT a.id, a.stored FROM unnest(applied, applied_balances) AS a (id, stored);
END $$`

const judgement = 'CREATE TYPE judgement AS (op int, why text, balances text)'

export const commit = [judgement, lockAll, applyOp, balanceText, applyTogether, commitUnits]
