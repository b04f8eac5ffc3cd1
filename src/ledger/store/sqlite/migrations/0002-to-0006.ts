import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

const keys = [
  "ALTER TABLE api_key ADD COLUMN budget_period TEXT CHECK (budget_period IN ('epoch', 'month', 'lifetime'))",
  'ALTER TABLE api_key ADD COLUMN budget_usd INTEGER CHECK (budget_usd >= 0)',
  'ALTER TABLE api_key ADD COLUMN budget_staking_usd INTEGER CHECK (budget_staking_usd >= 0)',
  `CREATE TABLE key_use (
    key TEXT NOT NULL REFERENCES api_key (id),
    period TEXT NOT NULL CHECK (period IN ('epoch', 'month', 'lifetime')),
    start_ms INTEGER NOT NULL,
    spent_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_usd >= 0),
    held_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_usd >= 0),
    spent_staking_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_staking_usd >= 0),
    held_staking_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_staking_usd >= 0),
    PRIMARY KEY (key, period, start_ms)
  ) STRICT, WITHOUT ROWID`,
]

const holds = [
  `CREATE TABLE staking_credit (
    account TEXT NOT NULL REFERENCES account (id),
    day_ms INTEGER NOT NULL,
    granted_usd INTEGER NOT NULL CHECK (granted_usd >= 0),
    spent_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_usd >= 0),
    held_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_usd >= 0),
    PRIMARY KEY (account, day_ms)
  ) STRICT, WITHOUT ROWID`,
  'ALTER TABLE hold ADD COLUMN staking_usd INTEGER NOT NULL DEFAULT 0 CHECK (staking_usd BETWEEN 0 AND amount)',
  'ALTER TABLE hold ADD COLUMN staking_day_ms INTEGER',
  'ALTER TABLE hold ADD COLUMN api_key TEXT',
  'ALTER TABLE hold ADD COLUMN budget_period TEXT',
  'ALTER TABLE hold ADD COLUMN budget_start_ms INTEGER',
  'ALTER TABLE hold ADD COLUMN owed TEXT',
  'CREATE INDEX hold_by_account ON hold (account)',
  'CREATE INDEX hold_by_lease ON hold (lease_until_ms)',
]

/** Made anew, because SQLite cannot widen the CHECK of `kind`; the rows are copied as they are. */
const entries = [
  'DROP TRIGGER entry_is_never_updated',
  'DROP TRIGGER entry_is_never_deleted',
  'DROP INDEX entry_once',
  'DROP INDEX entry_by_account',
  'ALTER TABLE entry RENAME TO entry_before',
  `CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('TOP_UP', 'CHARGE', 'REFUND', 'GRANT', 'STAKING', 'WRITE_OFF')),
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
    api_key TEXT,
    budget_period TEXT,
    budget_start_ms INTEGER,
    staking_day_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    CHECK (debit <> credit),
    CHECK (account IN (debit, credit))
  ) STRICT`,
  `INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
      unit_price_pico_usd, reason, created_at_ms)
    SELECT seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units,
      unit_price_pico_usd, reason, created_at_ms FROM entry_before ORDER BY seq`,
  'DROP TABLE entry_before',
  'CREATE UNIQUE INDEX entry_once ON entry (ref, line)',
  'CREATE INDEX entry_by_account ON entry (account, seq)',
  'CREATE INDEX entry_by_key ON entry (api_key, created_at_ms) WHERE api_key IS NOT NULL',
  `CREATE TRIGGER entry_is_never_updated BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
  `CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
]

const work = [
  `CREATE TABLE claim (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    request TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'done')),
    fence INTEGER NOT NULL CHECK (fence >= 1),
    lease_owner TEXT,
    lease_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX claim_by_age ON claim (created_at_ms)',
  `CREATE TABLE claim_answer (
    claim TEXT PRIMARY KEY REFERENCES claim (id) ON DELETE CASCADE,
    answer TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE ledger_state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    state TEXT NOT NULL CHECK (state IN ('open', 'read_only')),
    reason TEXT NOT NULL,
    since_ms INTEGER NOT NULL
  ) STRICT`,
]

export const budgetsStakingClaims: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [...keys, ...holds, ...entries, ...work]) await sql.raw(statement).execute(database)
  },
}

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
