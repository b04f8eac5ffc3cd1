import type { Migration } from '#wallet/records/state.ts'

/** What the services say that they charged, signed or not, and the keys that they sign with, as they were first seen. */
export const receiptMigrations: readonly Migration[] = [
  {
    name: '0001-charge-receipts',
    sql: `
      CREATE TABLE receipt_keys (
        service TEXT NOT NULL,
        id TEXT NOT NULL,
        public_key TEXT NOT NULL,
        first_seen_at_ms INTEGER NOT NULL,
        PRIMARY KEY (service, id)
      ) STRICT;

      CREATE TABLE charge_receipts (
        service TEXT NOT NULL,
        id TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('unsigned', 'unchecked', 'verified', 'differs', 'unverified')),
        problem TEXT,
        receipt TEXT,
        what TEXT,
        request TEXT,
        operation TEXT,
        model TEXT,
        said_micro_usd INTEGER,
        most_micro_usd INTEGER,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (service, id),
        CHECK ((state = 'unsigned') = (receipt IS NULL))
      ) STRICT;
      CREATE INDEX charge_receipts_by_time ON charge_receipts (at_ms);
    `,
  },
  {
    name: '0002-receipts-of-calls',
    sql: `
      ALTER TABLE charge_receipts ADD COLUMN call_id TEXT;
      CREATE INDEX charge_receipts_by_call ON charge_receipts (call_id) WHERE call_id IS NOT NULL;
    `,
  },
  {
    name: '0003-receipts-of-streams',
    sql: `
      ALTER TABLE charge_receipts ADD COLUMN comes_later INTEGER NOT NULL DEFAULT 0 CHECK (comes_later IN (0, 1));
    `,
  },
  {
    // A service could name any time, and what is of a far one stood above all others for ever.
    name: '0004-receipts-of-no-far-time',
    sql: `
      UPDATE charge_receipts SET at_ms = unixepoch() * 1000 WHERE at_ms > unixepoch() * 1000 OR at_ms < 0;
      CREATE INDEX charge_receipts_of_service ON charge_receipts (service, at_ms);
    `,
  },
]
