/** The sum of each kind between the same two sides, and the balance after the entries: folding keeps both. */
const moneyOfEntries = `CREATE FUNCTION money_of_entries(of_account text, first_seq bigint, last_seq bigint)
RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN jsonb_build_array(
    (SELECT jsonb_object_agg(s.kind || ' ' || s.debit || ' ' || s.credit, s.amount) FROM (
      SELECT e.kind, e.debit, e.credit, sum(e.amount) AS amount FROM entry e
        WHERE e.account = of_account AND e.seq BETWEEN first_seq AND last_seq
        GROUP BY e.kind, e.debit, e.credit HAVING sum(e.amount) <> 0) s),
    (SELECT e.posted_after FROM entry e WHERE e.account = of_account AND e.seq <= last_seq ORDER BY e.seq DESC LIMIT 1));
END $$`

const foldedColumns = [
  ...['seq bigint', 'id text', 'kind text', 'account text', 'debit text', 'credit text', 'amount bigint'],
  ...['posted_after bigint', 'ref text', 'line bigint', 'request text', 'model text', 'sku text', 'units bigint'],
  ...['unit_price_pico_usd bigint', 'reason text', 'api_key text', 'budget_period text', 'budget_start_ms bigint'],
  ...['staking_day_ms bigint', 'created_at_ms bigint'],
]

const foldedNames = foldedColumns.map(column => column.split(' ')[0]).join(', ')

const foldEntries = `CREATE FUNCTION fold_entries(
  of_account text, first_seq bigint, last_seq bigint, entries bigint, before_time_ms bigint, sums text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before jsonb;
  gone bigint;
BEGIN
  -- A concurrent fold waits here for this one.
  INSERT INTO compaction AS c VALUES (1, before_time_ms, true)
    ON CONFLICT (one) DO UPDATE SET before_ms = greatest(c.before_ms, before_time_ms), folding = true;
  before := money_of_entries(of_account, first_seq, last_seq);
  -- Only here does the service's own role have this privilege: to every other transaction it never has it.
  GRANT DELETE ON entry TO CURRENT_USER;
  DELETE FROM entry WHERE account = of_account AND seq BETWEEN first_seq AND last_seq;
  GET DIAGNOSTICS gone = ROW_COUNT;
  REVOKE DELETE ON entry FROM CURRENT_USER;
  INSERT INTO entry (${foldedNames})
    SELECT ${foldedNames} FROM jsonb_to_recordset(sums::jsonb) AS folded (${foldedColumns.join(', ')});
  IF gone <> entries OR before IS DISTINCT FROM money_of_entries(of_account, first_seq, last_seq) THEN
    RAISE EXCEPTION 'entries are not what their sums were made of';
  END IF;
  UPDATE compaction SET folding = false;
  RETURN gone;
END $$`

/** Replaces entries of old months by their sums. */
export const foldFunctions: readonly string[] = [moneyOfEntries, foldEntries]
