import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

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
