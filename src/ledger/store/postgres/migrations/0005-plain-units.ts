import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { declaredColumns, passedColumns } from './0002-to-0004.ts'

/**
 * What the tables say about a batch before any of it is applied. One position per unit: `outcomes`, the first ones of
 * repeated units. One position per operation, for plain ones: `why` refuses it whatever the batch does before it;
 * `seat` is its account's index among the locked ones; `freed` and `key` belong to the hold that it ends.
 */
const facts = `CREATE TYPE facts AS (
  outcomes text[], plain boolean[], why text[], seat int[], freed bigint[], key text[], read_only boolean
)`

/**
 * One statement for all of them, after the one that locks, because a unit that is sent again may race its first
 * sending. If a budget or staking credit is involved, or an account is not locked, an operation is not plain after all.
 * Each row is searched separately (`LIMIT 1`, scalar subqueries), because a join planned while the tables were empty
 * would scan them ever after.
 */
const lookUp = `CREATE FUNCTION look_up(
  unit_ids text[], plain boolean[], kinds text[], names text[], accounts text[], keys text[], requests text[],
  amounts bigint[], expired_at_ms bigint[], known text[]
) RETURNS facts LANGUAGE plpgsql AS $$
DECLARE
  answer facts;
BEGIN
  SELECT ARRAY(
        SELECT (SELECT u.balances FROM unit u WHERE u.id = sent.id)
        FROM unnest(unit_ids) WITH ORDINALITY AS sent (id, place) ORDER BY sent.place),
      array_agg(f.plain AND (f.why IS NOT NULL OR f.seat IS NOT NULL)), array_agg(f.why), array_agg(f.seat),
      array_agg(f.freed), array_agg(f.key), EXISTS (SELECT FROM ledger_state WHERE state = 'read_only')
    INTO answer
    FROM (
      SELECT
        op.plain AND k.budget_period IS NULL AND h.staking_day_ms IS NULL AND h.budget_period IS NULL AS plain,
        CASE
          WHEN NOT op.plain THEN NULL
          WHEN op.kind = 'hold' THEN CASE
            WHEN array_position(known, op.account) IS NULL THEN 'no_account'
            WHEN op.key IS NOT NULL AND (k.account = op.account AND k.revoked_at_ms IS NULL) IS NOT TRUE THEN 'no_key'
            WHEN h.id IS NOT NULL THEN 'hold_exists'
            WHEN (SELECT e.id FROM ended_hold e WHERE e.id = op.name) IS NOT NULL THEN 'hold_exists'
          END
          WHEN h.id IS NULL THEN 'no_hold'
          WHEN h.lease_until_ms > op.expired_at_ms THEN 'lease_live'
          WHEN (SELECT c.ref FROM entry c WHERE c.ref = 'charge:' || op.request AND c.line = 0) IS NOT NULL
            THEN 'request_charged'
          WHEN op.amount > h.amount THEN 'over_hold'
        END AS why,
        array_position(known, coalesce(op.account, h.account)) AS seat, h.amount AS freed, h.api_key AS key
      FROM unnest(plain, kinds, names, accounts, keys, requests, amounts, expired_at_ms)
          WITH ORDINALITY AS op (plain, kind, name, account, key, request, amount, expired_at_ms, place)
        LEFT JOIN LATERAL (SELECT * FROM hold WHERE op.plain AND hold.id = op.name LIMIT 1) h ON true
        LEFT JOIN LATERAL (SELECT * FROM api_key WHERE op.plain AND api_key.id = op.key LIMIT 1) k ON true
      ORDER BY op.place
    ) f;
  RETURN answer;
END $$`

const factFunctions = [facts, lookUp]

/**
 * Progress after a run of plain units, and what to write for it: the operations that open a hold, those that end one,
 * and per operation, the unit that ended a hold and what it left in the account.
 */
const plainRun = `CREATE TYPE plain_run AS (
  now progress, opened int[], ended int[], ended_by int[], left_after bigint[]
)`

/** A separate function, because an expression that contains a query is planned each time, at a query's cost. */
const openHoldsOf = `CREATE FUNCTION open_holds_of(of_account text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT count(*) FROM hold h WHERE h.account = of_account);
END $$`

/**
 * Judges plain units one after another, in memory: each sees the balances that the previous one left. Their additions
 * are written after the last one.
 */
const judgePlain = `CREATE FUNCTION judge_plain(
  first_unit int, last_unit int, op_of int[], now progress, facts facts, kinds text[], amounts bigint[],
  most_open bigint[]
) RETURNS plain_run LANGUAGE plpgsql AS $$
DECLARE
  known text[] := now.known;
  posted bigint[] := now.posted;
  held bigint[] := now.held;
  outcomes text[] := now.outcomes;
  seats int[] := facts.seat;
  freed bigint[] := facts.freed;
  whys text[] := facts.why;
  opened_more int[] := array_fill(0, ARRAY[cardinality(known)]);
  opened int[] := '{}';
  ended int[] := '{}';
  ended_by int[] := '{}';
  left_after bigint[] := '{}';
  i int;
  seat int;
  why text;
BEGIN
  FOR n IN first_unit .. last_unit LOOP
    IF outcomes[n] IS NOT NULL THEN now.again[n] := true; CONTINUE; END IF;
    i := op_of[n];
    seat := seats[i];
    why := whys[i];
    IF why IS NULL AND kinds[i] = 'hold' THEN
      why := CASE
        WHEN facts.read_only THEN 'read_only'
        WHEN most_open[i] IS NOT NULL AND open_holds_of(known[seat]) + opened_more[seat] >= most_open[i]
          THEN 'too_many_open'
        WHEN posted[seat] - held[seat] < amounts[i] THEN 'insufficient_funds'
      END;
    END IF;
    IF why IS NOT NULL THEN now.whys[n] := why; CONTINUE; END IF;
    IF kinds[i] = 'hold' THEN
      held[seat] := held[seat] + amounts[i];
      opened_more[seat] := opened_more[seat] + 1;
      opened := opened || i;
    ELSE
      posted[seat] := posted[seat] - amounts[i];
      held[seat] := held[seat] - freed[i];
      opened_more[seat] := opened_more[seat] - 1;
      ended := ended || i;
      ended_by[i] := n;
      left_after[i] := posted[seat];
    END IF;
    outcomes[n] := '[[' || to_json(known[seat]) || ',"' || posted[seat] || '","' || held[seat] || '"]]';
  END LOOP;
  now.posted := posted;
  now.held := held;
  now.outcomes := outcomes;
  RETURN ROW(now, opened, ended, ended_by, left_after)::plain_run;
END $$`

const openHolds = `CREATE FUNCTION open_holds(
  opened int[], names text[], accounts text[], amounts bigint[], times_ms bigint[], owners text[], until_ms bigint[],
  keys text[]
) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hold (id, account, amount, api_key, lease_owner, lease_until_ms, created_at_ms)
    SELECT names[i], accounts[i], amounts[i], keys[i], owners[i], until_ms[i], times_ms[i] FROM unnest(opened) AS i;
  RETURN cardinality(opened);
END $$`

/** No other process can have ended one of them in the meantime, because their accounts are locked. */
const endHolds = `CREATE FUNCTION end_holds(ended int[], names text[], line_counts int[])
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  gone int;
BEGIN
  DELETE FROM hold WHERE id = ANY (ARRAY(SELECT names[i] FROM unnest(ended) AS i));
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone <> cardinality(ended) THEN RAISE EXCEPTION 'a hold has ended meanwhile'; END IF;
  INSERT INTO ended_hold (id, how)
    SELECT names[i], CASE WHEN line_counts[i] > 0 THEN 'captured' ELSE 'released' END FROM unnest(ended) AS i;
  RETURN gone;
END $$`

/** The lines of all captures of a run, each with the balance before the later ones. */
const chargeLines = `CREATE FUNCTION charge_lines(
  ended_by int[], left_after bigint[], known text[], facts facts, unit_ids text[], amounts bigint[], times_ms bigint[],
  requests text[], models text[], line_ops int[], line_places int[], skus text[], line_units bigint[], prices bigint[],
  line_amounts bigint[], line_sums bigint[]
) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  seats int[] := facts.seat;
  hold_keys text[] := facts.key;
BEGIN
  INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
      unit_price_pico_usd, api_key, created_at_ms)
    SELECT unit_ids[ended_by[l.op]] || '.' || l.place, 'CHARGE', known[seats[l.op]], known[seats[l.op]],
      'system:revenue', l.amount, left_after[l.op] + amounts[l.op] - l.sum, 'charge:' || requests[l.op], l.place,
      requests[l.op], models[l.op], l.sku, l.units, l.price, hold_keys[l.op], times_ms[l.op]
    FROM unnest(line_ops, line_places, skus, line_units, prices, line_amounts, line_sums)
      WITH ORDINALITY AS l (op, place, sku, units, price, amount, sum, number)
    WHERE ended_by[l.op] IS NOT NULL
    ORDER BY l.number;
  RETURN cardinality(line_ops);
END $$`

const plainFunctions = [plainRun, openHoldsOf, judgePlain, openHolds, endHolds, chargeLines]

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

const otherFunctions = [judgedAlone, applyOthers]

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
export const commitBatch = `CREATE FUNCTION commit_batch(
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

const commitFunctions = [endBatch, commitBatch]

/**
 * A batch's results so far: the balances, per account; and per unit, its outcome if it was applied, whether that was
 * before this batch, and which operation was refused and why.
 */
const progress = `CREATE TYPE progress AS (
  known text[], posted bigint[], held bigint[], outcomes text[], again boolean[], ops int[], whys text[]
)`

const progressType = [progress]

/**
 * Most units take or end a hold without staking credit or a budget. These are looked up, judged and written for a whole
 * batch at once; all others use the functions of their operations, as before. The previous batch function stays for
 * processes of the previous release.
 */
export const plainUnits: Migration = {
  async up(database: Kysely<unknown>) {
    const all = [...progressType, ...factFunctions, ...plainFunctions, ...otherFunctions, ...commitFunctions]
    for (const statement of all) await sql.raw(statement).execute(database)
  },
}
