import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { accounts } from './0002-unit-functions/accounts.ts'

const tables = [
  `ALTER TABLE api_key ADD COLUMN role text COLLATE "C" NOT NULL DEFAULT 'INFERENCE'
    CHECK (role IN ('INFERENCE', 'ADMIN'))`,
  `ALTER TABLE api_key ADD COLUMN ending text COLLATE "C" NOT NULL DEFAULT ''`,
  // What an account used, by time: a page of it and its count are read from the index, however many others there are.
  `CREATE INDEX entry_of_use ON entry (account, created_at_ms, seq) WHERE kind <> 'TOP_UP' AND kind <> 'GRANT'`,
  `CREATE INDEX entry_of_staking ON entry (account, created_at_ms, seq) WHERE kind = 'STAKING'`,
]

/** The functions as they were, with what a process of this release sends besides; one of the release before sends less. */
const functions = accounts
  .filter(each => /FUNCTION apply_key(_budget)?\(/.test(each))
  .map(each =>
    each
      .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
      .replace(
        '  INSERT INTO api_key (',
        `  IF (fields->>'mostActive')::bigint <= (SELECT count(*) FROM api_key k WHERE k.account = of_account
    AND k.revoked_at_ms IS NULL AND (k.expires_at_ms IS NULL OR k.expires_at_ms > at_ms)) THEN
    answer.why := 'too_many_keys'; RETURN answer;
  END IF;
  INSERT INTO api_key (role, ending, `,
      )
      .replace(
        'VALUES (key_id,',
        "VALUES (coalesce(fields->>'role', 'INFERENCE'), coalesce(fields->>'ending', ''), key_id,",
      )
      .replace(
        'UPDATE api_key SET ',
        `UPDATE api_key SET label = coalesce(fields->>'label', label),
      expires_at_ms = CASE WHEN fields ? 'expiresAtMs' THEN (fields->>'expiresAtMs')::bigint ELSE expires_at_ms END,
      `,
      ),
  )

/** Keys that manage their account, and reading what it used without a look at all that it ever did. */
export const keyRoles: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [...tables, ...functions]) await sql.raw(statement).execute(database)
  },
}
