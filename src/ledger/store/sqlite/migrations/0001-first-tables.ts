import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const accounts = [
  `CREATE TABLE account (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('wallet', 'customer')),
    posted INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    CHECK (held >= 0),
    CHECK (posted - held >= 0)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE wallet (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX wallet_by_account ON wallet (account)',
  `CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    hash TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    label TEXT NOT NULL,
    expires_at_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX api_key_by_account ON api_key (account)',
]

const money = [
  `CREATE TABLE hold (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    amount INTEGER NOT NULL CHECK (amount >= 0),
    lease_owner TEXT NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE ended_hold (
    id TEXT PRIMARY KEY,
    how TEXT NOT NULL CHECK (how IN ('captured', 'released'))
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE unit (
    id TEXT PRIMARY KEY,
    balances TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('TOP_UP', 'CHARGE', 'REFUND', 'GRANT')),
    account TEXT NOT NULL REFERENCES account (id),
    debit TEXT NOT NULL,
    credit TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    effect INTEGER GENERATED ALWAYS AS (CASE account WHEN credit THEN amount ELSE -amount END) VIRTUAL,
    posted_after INTEGER NOT NULL CHECK (posted_after >= 0),
    ref TEXT NOT NULL,
    line INTEGER NOT NULL CHECK (line >= 0),
    request TEXT,
    model TEXT,
    sku TEXT,
    units INTEGER CHECK (units >= 0),
    unit_price_pico_usd INTEGER CHECK (unit_price_pico_usd >= 0),
    reason TEXT,
    created_at_ms INTEGER NOT NULL,
    CHECK (debit <> credit),
    CHECK (account IN (debit, credit))
  ) STRICT`,
  'CREATE UNIQUE INDEX entry_once ON entry (ref, line)',
  'CREATE INDEX entry_by_account ON entry (account, seq)',
  `CREATE TRIGGER entry_is_never_updated BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
  `CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
]

const work = [
  `CREATE TABLE nonce (
    id TEXT PRIMARY KEY,
    expires_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX nonce_by_expiry ON nonce (expires_at_ms)',
  `CREATE TABLE job (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    model TEXT NOT NULL,
    request TEXT NOT NULL UNIQUE,
    engine_state TEXT,
    result TEXT,
    failure TEXT,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed', 'deleted')),
    fence INTEGER NOT NULL CHECK (fence >= 1),
    lease_owner TEXT,
    lease_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
  ) STRICT`,
  'CREATE INDEX job_by_state ON job (state, lease_until_ms)',
  'CREATE INDEX job_by_model ON job (model, state, id)',
  // Jobs with a file, few of all jobs that ever existed: the cleanup of old media searches these.
  "CREATE INDEX job_with_file ON job (id) WHERE result IS NOT NULL AND result <> 'null'",
  // Separate, because images make it large and every renewal of a lease rewrites its row.
  `CREATE TABLE job_input (
    job TEXT PRIMARY KEY REFERENCES job (id),
    input TEXT NOT NULL
  ) STRICT`,
  'CREATE INDEX job_by_account ON job (account, created_at_ms)',
  `CREATE TABLE payment (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('claimed', 'settling', 'unknown', 'credited', 'rejected', 'expired')),
    fence INTEGER NOT NULL CHECK (fence >= 1),
    network TEXT,
    payer TEXT,
    amount INTEGER CHECK (amount >= 0),
    payload TEXT,
    valid_before_seconds INTEGER,
    transaction_id TEXT,
    answer TEXT,
    lease_owner TEXT,
    lease_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
  ) STRICT`,
  'CREATE INDEX payment_by_state ON payment (state, lease_until_ms)',
  `CREATE TABLE limit_log (
    seq INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    key TEXT,
    model TEXT NOT NULL,
    tier TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('RPM', 'TPM', 'RPD', 'FAILED_REQUESTS')),
    created_at_ms INTEGER NOT NULL
  ) STRICT`,
  'CREATE INDEX limit_log_by_account ON limit_log (account, seq)',
  'CREATE INDEX limit_log_by_time ON limit_log (created_at_ms)',
]

/** One statement each, because a prepared statement ignores what follows its first semicolon. */
export const firstTables: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [...accounts, ...money, ...work]) await sql.raw(statement).execute(database)
  },
}
