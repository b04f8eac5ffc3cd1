import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { balanceParameters, entries, funds, verdicts } from './0002-unit-functions/entries.ts'
import { holds } from './0002-unit-functions/holds.ts'
import { accounts, moves, records } from './0002-unit-functions/records.ts'

/**
 * One order for every process, so that locks never form a cycle: accounts by id, jobs by id, then names that may have
 * no row yet, by their hashes. Accounts of holds, keys and charges are looked up here.
 */
export const lockAll = `CREATE FUNCTION lock_all(
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
  SELECT coalesce(array_agg(l.id), '{}'), coalesce(array_agg(l.posted), '{}'), coalesce(array_agg(l.held), '{}')
    INTO answer.accounts, answer.posted, answer.held
    FROM (
      SELECT a.id, a.posted, a.held FROM account a WHERE a.id = ANY (accounts) ORDER BY a.id FOR NO KEY UPDATE
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

export const applyOp = `CREATE FUNCTION apply_op(
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
    ELSE RETURN ROW('invalid', NULL, NULL, NULL, NULL, NULL, NULL)::verdict;
  END CASE;
END $$`

const balanceText = `CREATE FUNCTION balance_text(account text, posted bigint, held bigint)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN '[' || to_json(account) || ',"' || posted || '","' || held || '"]';
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
      CASE WHEN (verdict.ended).id IS NOT NULL THEN ARRAY[verdict.ended] END, verdict.booked);
    place := place + coalesce(cardinality(verdict.booked), 0);
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

/**
 * Applies units in order in one transaction, and returns one row per unit. A unit without operations is only looked up.
 * The outcomes are read in a statement after the locks, because a unit that is sent again may race its first sending.
 * What single operations add is written for many of them at once: before one that must find it, and at the end.
 */
const commitUnits = `CREATE FUNCTION commit_units(
  unit_ids text[], unit_ops int[], unit_twins int[],
  lock_accounts text[], lock_holds text[], lock_keys text[], lock_charges text[], lock_jobs text[], lock_names text[],
  ${declaredColumns}
) RETURNS TABLE (again boolean, op int, why text, balances text) LANGUAGE plpgsql AS $$
DECLARE
  start locked := lock_all(lock_accounts, lock_holds, lock_keys, lock_charges, lock_jobs, lock_names);
  known text[] := start.accounts;
  known_posted bigint[] := start.posted;
  known_held bigint[] := start.held;
  outcomes text[];
  answer judgement;
  verdict verdict;
  row_of booking;
  seat int;
  opened hold[] := '{}';
  unwritten text[] := '{}';
  ended ended_hold[] := '{}';
  booked booking[] := '{}';
  applied text[] := '{}';
  applied_balances text[] := '{}';
  first_op int := 1;
  read_only boolean;
BEGIN
  outcomes := ARRAY(
    SELECT (SELECT u.balances FROM unit u WHERE u.id = sent.id)
    FROM unnest(unit_ids) WITH ORDINALITY AS sent (id, place) ORDER BY sent.place);
  read_only := is_read_only();
  FOR n IN 1 .. cardinality(unit_ids) LOOP
    IF outcomes[n] IS NULL AND unit_twins[n] > 0 THEN outcomes[n] := outcomes[unit_twins[n]]; END IF;
    again := outcomes[n] IS NOT NULL;
    op := NULL;
    why := NULL;
    balances := outcomes[n];
    IF NOT again AND unit_ops[n] > 0 THEN
      IF unit_ops[n] > 1 OR flushes[first_op] THEN
        PERFORM write_rows(opened, ended, booked);
        opened := '{}'; unwritten := '{}'; ended := '{}'; booked := '{}';
      END IF;
      IF unit_ops[n] = 1 THEN
        verdict := apply_op(first_op, unit_ids[n], 0, read_only, unwritten, known, known_posted, known_held, ${passedColumns});
        IF verdict.why IS NOT NULL THEN
          op := 0;
          why := verdict.why;
        ELSIF verdict.account IS NULL THEN
          balances := '[]';
          IF kinds[first_op] = 'ledger' THEN read_only := is_read_only(); END IF;
        ELSE
          balances := '[' || balance_text(verdict.account, verdict.posted, verdict.held) || ']';
          seat := coalesce(array_position(known, verdict.account), cardinality(known) + 1);
          known[seat] := verdict.account;
          known_posted[seat] := verdict.posted;
          known_held[seat] := verdict.held;
          IF (verdict.opened).id IS NOT NULL THEN
            opened := opened || verdict.opened;
            unwritten := unwritten || verdict.account;
          END IF;
          IF (verdict.ended).id IS NOT NULL THEN ended := ended || verdict.ended; END IF;
          IF verdict.booked IS NOT NULL THEN
            FOREACH row_of IN ARRAY verdict.booked LOOP booked := booked || row_of; END LOOP;
          END IF;
        END IF;
      ELSE
        answer := apply_together(
          first_op, first_op + unit_ops[n] - 1, unit_ids[n], known, known_posted, known_held, ${passedColumns});
        op := answer.op;
        why := answer.why;
        balances := answer.balances;
        IF why IS NULL THEN
          FOR touched IN 1 .. cardinality(answer.accounts) LOOP
            seat := coalesce(array_position(known, answer.accounts[touched]), cardinality(known) + 1);
            known[seat] := answer.accounts[touched];
            known_posted[seat] := answer.posted[touched];
            known_held[seat] := answer.held[touched];
          END LOOP;
          read_only := is_read_only();
        END IF;
      END IF;
      IF why IS NULL THEN
        outcomes[n] := balances;
        applied := applied || unit_ids[n];
        applied_balances := applied_balances || balances;
      END IF;
    END IF;
    first_op := first_op + unit_ops[n];
    RETURN NEXT;
  END LOOP;
  PERFORM write_rows(opened, ended, booked);
  UPDATE account SET posted = b.posted, held = b.held
    FROM unnest(known, known_posted, known_held) AS b (id, posted, held)
    WHERE account.id = b.id AND (account.posted <> b.posted OR account.held <> b.held);
  INSERT INTO unit (id, balances) SELECT a.id, a.stored FROM unnest(applied, applied_balances) AS a (id, stored);
END $$`

const judgement = `CREATE TYPE judgement AS (
  op int, why text, balances text, accounts text[], posted bigint[], held bigint[]
)`

const locked = 'CREATE TYPE locked AS (accounts text[], posted bigint[], held bigint[])'

const commit = [judgement, locked, lockAll, applyOp, balanceText, applyTogether, commitUnits]

/** Applies a batch of units inside the database, so that it is one round trip however many units it has. */
export const unitFunctions: Migration = {
  async up(database: Kysely<unknown>) {
    const all = [...verdicts, ...funds, ...accounts, ...holds, ...entries, ...moves, ...records, ...commit]
    for (const statement of all) await sql.raw(statement).execute(database)
  },
}

/** The trigger that makes entries append-only raises a code of its own, so that its message need not be parsed. */
export const entryChangeCode: Migration = {
  async up(database: Kysely<unknown>) {
    await sql`CREATE OR REPLACE FUNCTION refuse_entry_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'entries are append-only' USING ERRCODE = 'FB002'; END $$`.execute(database)
  },
}

const name = 'text COLLATE "C"'

const table = `CREATE TABLE secret_mark (
  generation bigint PRIMARY KEY CHECK (generation >= 1),
  mark ${name} NOT NULL,
  place ${name} NOT NULL,
  since_ms bigint NOT NULL
)`

const applySecret = `CREATE FUNCTION apply_secret(next bigint, told text, put text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
BEGIN
  INSERT INTO secret_mark (generation, mark, place, since_ms) SELECT next, told, put, at_ms
    WHERE next = (SELECT coalesce(max(s.generation), 0) + 1 FROM secret_mark s) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN answer.why := 'secret_moved'; END IF;
  RETURN answer;
END $$`

/** The same function, with one more operation. */
const applyOpToo = applyOp
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace(
    '    ELSE RETURN',
    "    WHEN 'secret' THEN RETURN apply_secret(amounts[i], names[i], words[i], times_ms[i]);\n    ELSE RETURN",
  )

/** Which secret made the hashes of API keys, so that a service with another secret is told before it creates keys. */
export const secretMarks: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [table, applySecret, applyOpToo]) await sql.raw(statement).execute(database)
  },
}
