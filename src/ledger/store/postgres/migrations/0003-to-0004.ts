import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { applyOp } from './0002-unit-functions.ts'

/** The trigger that keeps entries as they are tells a code of its own, so that nobody has to read its words. */
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

/** Which secret made the hashes of API keys, so that a service which has another one is told so before it makes keys. */
export const secretMarks: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [table, applySecret, applyOpToo]) await sql.raw(statement).execute(database)
  },
}
