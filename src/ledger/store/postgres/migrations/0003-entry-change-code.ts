import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The trigger that keeps entries as they are tells a code of its own, so that nobody has to read its words. */
export const entryChangeCode: Migration = {
  async up(database: Kysely<unknown>) {
    await sql`CREATE OR REPLACE FUNCTION refuse_entry_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'entries are append-only' USING ERRCODE = 'FB002'; END $$`.execute(database)
  },
}
