import { declaredColumns, passedColumns } from './operations.ts'

const locked = 'CREATE TYPE locked AS (accounts text[], posted bigint[], held bigint[], suspended text[])'

/**
 * One order for every process, so that locks never form a cycle: accounts by id, jobs by id, then names that may have
 * no row yet, by their hashes. Accounts of holds, keys and charges are looked up here.
 */
const lockAll = `CREATE FUNCTION lock_all(
  accounts text[], of_holds text[], of_keys text[], of_charges text[], jobs text[], free_names text[]
) RETURNS locked LANGUAGE plpgsql AS $$
DECLARE
  answer locked;
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
  SELECT coalesce(array_agg(l.id), '{}'), coalesce(array_agg(l.posted), '{}'), coalesce(array_agg(l.held), '{}'),
      array_agg(l.id) FILTER (WHERE l.suspended_at_ms IS NOT NULL)
    INTO answer.accounts, answer.posted, answer.held, answer.suspended
    FROM (
      SELECT a.id, a.posted, a.held, a.suspended_at_ms FROM account a WHERE a.id = ANY (accounts) ORDER BY a.id FOR NO KEY UPDATE
    ) l;
  IF cardinality(jobs) > 0 THEN
    PERFORM FROM job j WHERE j.id = ANY (jobs) ORDER BY j.id FOR NO KEY UPDATE;
  END IF;
  IF cardinality(free_names) > 0 THEN
    PERFORM pg_advisory_xact_lock(sorted.hash) FROM (
      SELECT DISTINCT hashtextextended(n.name, 0) AS hash FROM unnest(free_names) AS n (name) ORDER BY hash
    ) sorted;
  END IF;
  RETURN answer;
END $$`

/** Judges a single operation as if it were several. */
const judgedAlone = `CREATE FUNCTION judged_alone(verdict verdict) RETURNS judgement LANGUAGE plpgsql AS $$
DECLARE
  answer judgement;
BEGIN
  answer.why := verdict.why;
  IF verdict.why IS NOT NULL THEN answer.op := 0; RETURN answer; END IF;
  IF verdict.account IS NULL THEN answer.balances := '[]'; RETURN answer; END IF;
  answer.accounts := ARRAY[verdict.account];
  answer.posted := ARRAY[verdict.posted];
  answer.held := ARRAY[verdict.held];
  answer.balances := '[' || balance_text(verdict.account, verdict.posted, verdict.held) || ']';
  RETURN answer;
END $$`

/**
 * Applies units that are not plain with the functions of their operations, which read and write the tables. What single
 * operations add is written for many of them at once: before one that must find it, and at the end.
 */
const applyOthers = `CREATE FUNCTION apply_others(
  first_unit int, last_unit int, unit_ids text[], unit_ops int[], unit_twins int[], op_of int[], now progress,
  read_only boolean, ${declaredColumns}
) RETURNS progress LANGUAGE plpgsql AS $$
DECLARE
  answer judgement;
  verdict verdict;
  row_of new_entry;
  opened hold[] := '{}';
  unwritten text[] := '{}';
  ended ended_hold[] := '{}';
  added new_entry[] := '{}';
  i int;
  seat int;
BEGIN
  FOR n IN first_unit .. last_unit LOOP
    IF now.outcomes[n] IS NULL AND unit_twins[n] > 0 THEN now.outcomes[n] := now.outcomes[unit_twins[n]]; END IF;
    now.again[n] := now.outcomes[n] IS NOT NULL;
    CONTINUE WHEN now.again[n] OR unit_ops[n] = 0;
    i := op_of[n];
    IF unit_ops[n] > 1 OR flushes[i] THEN
      PERFORM write_rows(opened, ended, added);
      opened := '{}'; unwritten := '{}'; ended := '{}'; added := '{}';
    END IF;
    IF unit_ops[n] > 1 THEN
      answer := apply_together(
        i, i + unit_ops[n] - 1, unit_ids[n], now.known, now.posted, now.held, ${passedColumns});
    ELSE
      verdict := apply_op(
        i, unit_ids[n], 0, read_only, unwritten, now.known, now.posted, now.held, ${passedColumns});
      answer := judged_alone(verdict);
      IF (verdict.opened).id IS NOT NULL THEN
        opened := opened || verdict.opened;
        unwritten := unwritten || verdict.account;
      END IF;
      IF (verdict.ended).id IS NOT NULL THEN ended := ended || verdict.ended; END IF;
      FOREACH row_of IN ARRAY coalesce(verdict.added, '{}') LOOP added := added || row_of; END LOOP;
    END IF;
    now.ops[n] := answer.op;
    now.whys[n] := answer.why;
    CONTINUE WHEN answer.why IS NOT NULL;
    now.outcomes[n] := answer.balances;
    FOR touched IN 1 .. coalesce(cardinality(answer.accounts), 0) LOOP
      seat := coalesce(array_position(now.known, answer.accounts[touched]), cardinality(now.known) + 1);
      now.known[seat] := answer.accounts[touched];
      now.posted[seat] := answer.posted[touched];
      now.held[seat] := answer.held[touched];
    END LOOP;
    IF unit_ops[n] > 1 OR kinds[i] = 'ledger' THEN read_only := is_read_only(); END IF;
  END LOOP;
  PERFORM write_rows(opened, ended, added);
  RETURN now;
END $$`

/** Writes what is left once all units are judged: the balances, and the outcomes of those that were applied. */
const endBatch = `CREATE FUNCTION end_batch(now progress, unit_ids text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  WITH moved AS (
    UPDATE account SET posted = b.posted, held = b.held
      FROM unnest(now.known, now.posted, now.held) AS b (id, posted, held)
      WHERE account.id = b.id AND (account.posted <> b.posted OR account.held <> b.held)
  )
  INSERT INTO unit (id, balances)
    SELECT u.id, u.outcome FROM unnest(unit_ids, now.outcomes, now.again) AS u (id, outcome, again)
    WHERE u.outcome IS NOT NULL AND NOT u.again;
  RETURN '[' || array_to_json(now.again) || ',' || array_to_json(now.ops) || ',' || array_to_json(now.whys) || ',['
    || array_to_string(now.outcomes, ',', 'null') || ']]';
END $$`

/**
 * Applies units in order in one transaction. Runs of plain units are judged in memory and written together; units
 * without operations are only looked up. \`op_of\` says where a unit's operations begin. Returns JSON: whether each
 * unit had been applied before, its refused operation, why, and its balances.
 */
const commitBatch = `CREATE FUNCTION commit_batch(
  unit_ids text[], unit_ops int[], unit_twins int[], op_of int[], may_be_plain boolean[],
  lock_accounts text[], lock_holds text[], lock_keys text[], lock_charges text[], lock_jobs text[], lock_names text[],
  ${declaredColumns}, line_ops int[], line_places int[], line_sums bigint[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  locked locked := lock_all(lock_accounts, lock_holds, lock_keys, lock_charges, lock_jobs, lock_names);
  facts facts := look_up(
    unit_ids, may_be_plain, kinds, names, accounts, keys, requests, amounts, expired_at_ms, locked.accounts);
  units int[] := ARRAY[cardinality(unit_ids)];
  now progress := ROW(locked.accounts, locked.posted, locked.held, facts.outcomes,
    array_fill(false, units), array_fill(NULL::int, units), array_fill(NULL::text, units));
  plain boolean[] := facts.plain;
  run plain_run;
  first_unit int := 1;
  last_unit int;
  written int;
BEGIN
  IF cardinality(locked.suspended) > 0 THEN
    facts.why := ARRAY(
      SELECT CASE WHEN f.why IS NULL AND f.kind = 'hold' AND f.account = ANY (locked.suspended) THEN 'suspended'
        ELSE f.why END
      FROM unnest(facts.why, kinds, accounts) WITH ORDINALITY AS f (why, kind, account, place) ORDER BY f.place);
  END IF;
  WHILE first_unit <= cardinality(unit_ids) LOOP
    last_unit := first_unit;
    WHILE last_unit < cardinality(unit_ids) AND plain[op_of[last_unit + 1]] = plain[op_of[first_unit]] LOOP
      last_unit := last_unit + 1;
    END LOOP;
    IF plain[op_of[first_unit]] THEN
      run := judge_plain(first_unit, last_unit, op_of, now, facts, kinds, amounts, most_open);
      now := run.now;
      IF cardinality(run.opened) > 0 THEN
        written := open_holds(run.opened, names, accounts, amounts, times_ms, owners, until_ms, keys);
      END IF;
      IF cardinality(run.ended) > 0 THEN
        written := end_holds(run.ended, names, line_counts);
        written := charge_lines(run.ended_by, run.left_after, now.known, facts, unit_ids, amounts, times_ms, requests,
          words, line_ops, line_places, skus, line_units, prices, line_amounts, line_sums);
      END IF;
    ELSE
      now := apply_others(
        first_unit, last_unit, unit_ids, unit_ops, unit_twins, op_of, now, facts.read_only, ${passedColumns});
      facts.read_only := is_read_only();
    END IF;
    first_unit := last_unit + 1;
  END LOOP;
  RETURN end_batch(now, unit_ids);
END $$`

export const batchFunctions: readonly string[] = [locked, lockAll, judgedAlone, applyOthers, endBatch, commitBatch]
