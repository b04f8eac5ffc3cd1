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

/** In the order in which they need each other. */
export const plainUnitFunctions: readonly string[] = [
  facts,
  lookUp,
  plainRun,
  openHoldsOf,
  judgePlain,
  openHolds,
  endHolds,
  chargeLines,
]
