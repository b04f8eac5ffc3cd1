/**
 * What the tables say of a batch before any of it is applied. One place a unit: `outcomes`, the first ones of what comes
 * again. One place an operation, for plain ones: `why` refuses it whatever the batch does before it; `seat` is its
 * account's place among the locked ones; `freed` and `key` are of the hold that it ends.
 */
const facts = `CREATE TYPE facts AS (
  outcomes text[], plain boolean[], why text[], seat int[], freed bigint[], key text[], read_only boolean
)`

/**
 * One statement for all of them, after the one that locks, because a unit that is sent again may race its first sending.
 * Where a budget or staking credit has a say, or an account is not locked, an operation is not plain after all. Each row
 * is searched for by itself (`LIMIT 1`, subqueries that answer one value), because the plan of a join that was made while
 * the tables were empty reads all of them ever after.
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

export const factFunctions = [facts, lookUp]
