import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { applyOps, changed } from './0014-customers.ts'

const name = 'text COLLATE "C"'

const table = `CREATE TABLE operator (
  name ${name} PRIMARY KEY,
  role ${name} NOT NULL,
  epoch ${name} NOT NULL,
  proofs text NOT NULL,
  fence bigint NOT NULL,
  created_at_ms bigint NOT NULL,
  changed_at_ms bigint NOT NULL
)`

/** One lock covers all changes of operators, so the number of owners cannot change while they are counted. */
const applyOperator = `CREATE FUNCTION apply_operator(named text, seen_fence bigint, fields jsonb, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
DECLARE
  answer verdict;
  role_before text;
BEGIN
  IF seen_fence = 0 THEN
    INSERT INTO operator (name, role, epoch, proofs, fence, created_at_ms, changed_at_ms)
      VALUES (named, fields->>'role', fields->>'epoch', fields->>'proofs', 1, at_ms, at_ms) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN answer.why := 'operator_moved'; END IF;
    RETURN answer;
  END IF;
  SELECT o.role INTO role_before FROM operator o WHERE o.name = named AND o.fence = seen_fence FOR UPDATE;
  IF NOT FOUND THEN answer.why := 'operator_moved'; RETURN answer; END IF;
  IF role_before = 'owner' AND coalesce(fields->>'role', '') <> 'owner'
    AND NOT EXISTS (SELECT FROM operator o WHERE o.role = 'owner' AND o.name <> named) THEN
    answer.why := 'last_owner'; RETURN answer;
  END IF;
  IF fields IS NULL THEN
    DELETE FROM operator o WHERE o.name = named;
  ELSE
    UPDATE operator o SET role = fields->>'role', epoch = fields->>'epoch', proofs = fields->>'proofs',
        fence = o.fence + 1, changed_at_ms = at_ms
      WHERE o.name = named;
  END IF;
  RETURN answer;
END $$`

const applyOpsToo = changed(applyOps, [
  '    ELSE RETURN',
  `    WHEN 'operator' THEN RETURN apply_operator(names[i], amounts[i], fields[i]::jsonb, times_ms[i]);
    ELSE RETURN`,
])

/** Operators with a name, who sign in to the console without a terminal. */
export const operators: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [table, applyOperator, applyOpsToo]) await sql.raw(statement).execute(database)
  },
}
