import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const statements = [
  'ALTER TABLE hold ADD COLUMN budget_usd INTEGER CHECK (budget_usd >= 0)',
  'ALTER TABLE hold ADD COLUMN budget_staking_usd INTEGER CHECK (budget_staking_usd >= 0)',
]

/** The limits that a hold was opened with, which it keeps whatever becomes of its key's budget. */
export const limitsOfHolds: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(database)
  },
}
