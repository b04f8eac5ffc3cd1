import { declaredColumns, passedColumns } from './columns.ts'

/** Writes what is left once all units have been judged: the balances, and the outcomes of those that were applied. */
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
 * Applies units in their order in one transaction. Runs of plain units are judged in memory and written together; units
 * without operations are only looked up. \`op_of\` tells where a unit's operations begin. Answers JSON: whether each unit
 * had been applied before, its refused operation, why, and its balances.
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

export const commitFunctions = [endBatch, commitBatch]
