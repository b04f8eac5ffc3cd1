import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const statements = [
  'ALTER TABLE account ADD COLUMN suspended_at_ms INTEGER',
  'ALTER TABLE account ADD COLUMN suspended_reason TEXT',
  `CREATE TABLE customer (
    account TEXT PRIMARY KEY REFERENCES account (id),
    name TEXT,
    email TEXT,
    note TEXT,
    plan TEXT,
    changed_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE operator_act (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    act TEXT NOT NULL,
    account TEXT,
    subject TEXT,
    reason TEXT,
    before_change TEXT,
    after_change TEXT
  ) STRICT`,
  'CREATE INDEX operator_act_by_account ON operator_act (account, seq) WHERE account IS NOT NULL',
  `CREATE TRIGGER operator_act_is_never_updated BEFORE UPDATE ON operator_act
    BEGIN SELECT RAISE(ABORT, 'operator acts are append-only'); END`,
  `CREATE TRIGGER operator_act_is_never_deleted BEFORE DELETE ON operator_act
    BEGIN SELECT RAISE(ABORT, 'operator acts are append-only'); END`,
]

/** Customers with a name and a state, and a log of operators' actions. */
export const customers: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(database)
  },
}
