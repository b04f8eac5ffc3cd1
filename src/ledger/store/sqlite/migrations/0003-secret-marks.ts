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
