import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { applyOp } from './0002-unit-functions/commit.ts'

const name = 'text COLLATE "C"'

const table = `CREATE TABLE receipt_key (
  id ${name} PRIMARY KEY,
  public_key ${name} NOT NULL,
  since_ms bigint NOT NULL
)`

const applyReceiptKey = `CREATE FUNCTION apply_receipt_key(key_id text, public_key text, at_ms bigint)
RETURNS verdict LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO receipt_key VALUES (key_id, public_key, at_ms) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$`

/** The function as the last migration that touched it left it, with one more operation. */
const applyOpToo = applyOp.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION').replace(
  '    ELSE RETURN',
  `    WHEN 'secret' THEN RETURN apply_secret(amounts[i], names[i], words[i], times_ms[i]);
    WHEN 'receiptKey' THEN RETURN apply_receipt_key(names[i], words[i], times_ms[i]);
    ELSE RETURN`,
)

/** Public keys of receipts, so that a receipt can be checked when the secret that signed it is long gone. */
export const receiptKeys: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [table, applyReceiptKey, applyOpToo]) await sql.raw(statement).execute(database)
  },
}
