import { declaredColumns, passedColumns } from './columns.ts'

/** One operation by itself, as if it were several. */
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
 * Applies units that are not plain by the functions of their operations, which read and write the tables. What single
 * operations add is written for many of them at once: before one that has to find it, and at the end.
 */
const applyOthers = `CREATE FUNCTION apply_others(
  first_unit int, last_unit int, unit_ids text[], unit_ops int[], unit_twins int[], op_of int[], now progress,
  read_only boolean, ${declaredColumns}
) RETURNS progress LANGUAGE plpgsql AS $$
DECLARE
  answer judgement;
  verdict verdict;
  row_of booking;
  opened hold[] := '{}';
  unwritten text[] := '{}';
  ended ended_hold[] := '{}';
  booked booking[] := '{}';
  i int;
  seat int;
BEGIN
  FOR n IN first_unit .. last_unit LOOP
    IF now.outcomes[n] IS NULL AND unit_twins[n] > 0 THEN now.outcomes[n] := now.outcomes[unit_twins[n]]; END IF;
    now.again[n] := now.outcomes[n] IS NOT NULL;
    CONTINUE WHEN now.again[n] OR unit_ops[n] = 0;
    i := op_of[n];
    IF unit_ops[n] > 1 OR flushes[i] THEN
      PERFORM write_rows(opened, ended, booked);
      opened := '{}'; unwritten := '{}'; ended := '{}'; booked := '{}';
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
      FOREACH row_of IN ARRAY coalesce(verdict.booked, '{}') LOOP booked := booked || row_of; END LOOP;
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
  PERFORM write_rows(opened, ended, booked);
  RETURN now;
END $$`

export const otherFunctions = [judgedAlone, applyOthers]
