import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Which secret made the hashes of API keys, so that a service which has another one is told so before it makes keys. */
export const secretMarks: Migration = {
  async up(database: Kysely<unknown>) {
    await sql`CREATE TABLE secret_mark (
      generation INTEGER PRIMARY KEY CHECK (generation >= 1),
      mark TEXT NOT NULL,
      place TEXT NOT NULL,
      since_ms INTEGER NOT NULL
    ) STRICT`.execute(database)
  },
}

/** Public keys of receipts, so that a receipt can be checked when the secret that signed it is long gone. */
export const receiptKeys: Migration = {
  async up(database: Kysely<unknown>) {
    await sql`CREATE TABLE receipt_key (
      id TEXT PRIMARY KEY,
      public_key TEXT NOT NULL,
      since_ms INTEGER NOT NULL
    ) STRICT`.execute(database)
  },
}

const keyRoleStatements = [
  "ALTER TABLE api_key ADD COLUMN role TEXT NOT NULL DEFAULT 'INFERENCE' CHECK (role IN ('INFERENCE', 'ADMIN'))",
  "ALTER TABLE api_key ADD COLUMN ending TEXT NOT NULL DEFAULT ''",
  // What an account used, by time: a page of it and its count are read from the index, however many others there are.
  `CREATE INDEX entry_of_use ON entry (account, created_at_ms, seq) WHERE kind <> 'TOP_UP' AND kind <> 'GRANT'`,
  `CREATE INDEX entry_of_staking ON entry (account, created_at_ms, seq) WHERE kind = 'STAKING'`,
]

/** Keys that manage their account, and reading what it used without a look at all that it ever did. */
export const keyRoles: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of keyRoleStatements) await sql.raw(statement).execute(database)
  },
}

const holdLimitStatements = [
  'ALTER TABLE hold ADD COLUMN budget_usd INTEGER CHECK (budget_usd >= 0)',
  'ALTER TABLE hold ADD COLUMN budget_staking_usd INTEGER CHECK (budget_staking_usd >= 0)',
]

/** The limits that a hold was opened with, which it keeps whatever becomes of its key's budget. */
export const limitsOfHolds: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of holdLimitStatements) await sql.raw(statement).execute(database)
  },
}
