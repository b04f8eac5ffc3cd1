import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Accounts stay for good, so whoever has locked one may count on it. To look for it again at each entry and each hold,
 * as a foreign key does, took an eighth of the database's time; the audit of the books looks for strangers, too.
 */
const statements = [
  `CREATE FUNCTION refuse_account_loss() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'accounts are never deleted or renamed' USING ERRCODE = 'FB002'; END $$`,
  `CREATE TRIGGER account_is_never_lost BEFORE UPDATE OF id OR DELETE OR TRUNCATE ON account
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_account_loss()`,
  'REVOKE DELETE, TRUNCATE ON account FROM CURRENT_USER, PUBLIC',
  'ALTER TABLE entry DROP CONSTRAINT entry_account_fkey',
  'ALTER TABLE hold DROP CONSTRAINT hold_account_fkey',
]

export const accountsStay: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(database)
  },
}
