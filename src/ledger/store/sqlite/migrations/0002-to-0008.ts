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

/** Recreated, because SQLite cannot widen the CHECK of `kind`; the rows are copied unchanged. */
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

/** Which secret made the hashes of API keys, so that a service with another secret is told before it creates keys. */
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

/** Public keys of receipts, so that a receipt can be verified long after the secret that signed it is gone. */
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
  // An account's use by time: a page of it and its count are read from the index, however many others there are.
  `CREATE INDEX entry_of_use ON entry (account, created_at_ms, seq) WHERE kind <> 'TOP_UP' AND kind <> 'GRANT'`,
  `CREATE INDEX entry_of_staking ON entry (account, created_at_ms, seq) WHERE kind = 'STAKING'`,
]

/** Keys that manage their account, and reading its use without scanning its whole history. */
export const keyRoles: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of keyRoleStatements) await sql.raw(statement).execute(database)
  },
}

const holdLimitStatements = [
  'ALTER TABLE hold ADD COLUMN budget_usd INTEGER CHECK (budget_usd >= 0)',
  'ALTER TABLE hold ADD COLUMN budget_staking_usd INTEGER CHECK (budget_staking_usd >= 0)',
]

/** The limits with which a hold was opened. The hold keeps them even if its key's budget changes. */
export const limitsOfHolds: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of holdLimitStatements) await sql.raw(statement).execute(database)
  },
}

/** Accounts by number, for everything that is written with each charge: an id would take 45 bytes each time. */
const numberedAccounts = [
  `CREATE TABLE account_number (
    number INTEGER PRIMARY KEY,
    account TEXT NOT NULL UNIQUE REFERENCES account (id)
  ) STRICT`,
  'INSERT INTO account_number (account) SELECT id FROM account ORDER BY created_at_ms, id',
  `CREATE TRIGGER account_is_numbered AFTER INSERT ON account
    BEGIN INSERT INTO account_number (account) VALUES (NEW.id); END`,
]

const sidesOfKind = {
  debit: `CASE entry_row.kind WHEN 'CHARGE' THEN account_number.account WHEN 'TOP_UP' THEN 'system:usdc'
    WHEN 'GRANT' THEN 'system:grant' WHEN 'REFUND' THEN 'system:revenue' WHEN 'WRITE_OFF' THEN 'system:writeoff'
    ELSE 'system:staking' END`,
  credit: `CASE entry_row.kind WHEN 'CHARGE' THEN 'system:revenue' ELSE account_number.account END`,
}

/** An entry's members other than its names, its account and both sides. */
const plainColumns = `seq, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, reason, api_key,
    budget_period, budget_start_ms, staking_day_ms, created_at_ms`

/**
 * An entry as stored. Its id, ref and sides are stored only if they differ from those of a charge of its request, or of
 * an entry of its kind, which is rare.
 */
const entryRows = [
  `CREATE TABLE entry_row (
    seq INTEGER PRIMARY KEY,
    account_number INTEGER NOT NULL REFERENCES account_number (number),
    kind TEXT NOT NULL CHECK (kind IN ('TOP_UP', 'CHARGE', 'REFUND', 'GRANT', 'STAKING', 'WRITE_OFF')),
    amount INTEGER NOT NULL CHECK (amount >= 0),
    posted_after INTEGER NOT NULL CHECK (posted_after >= 0),
    line INTEGER NOT NULL CHECK (line >= 0),
    request TEXT,
    model TEXT,
    sku TEXT,
    units INTEGER CHECK (units >= 0),
    unit_price_pico_usd INTEGER CHECK (unit_price_pico_usd >= 0),
    created_at_ms INTEGER NOT NULL,
    api_key TEXT,
    budget_period TEXT,
    budget_start_ms INTEGER,
    staking_day_ms INTEGER,
    reason TEXT,
    own_id TEXT,
    own_ref TEXT,
    own_debit TEXT,
    own_credit TEXT,
    id TEXT NOT NULL GENERATED ALWAYS AS (coalesce(own_id, request || '/capture.' || line)) VIRTUAL,
    ref TEXT NOT NULL GENERATED ALWAYS AS (coalesce(own_ref, 'charge:' || request)) VIRTUAL,
    CHECK (own_debit <> own_credit)
  ) STRICT`,
  `INSERT INTO entry_row (account_number, own_id, own_ref, own_debit, own_credit, ${plainColumns})
    SELECT account_number.number,
      CASE WHEN id = request || '/capture.' || line THEN NULL ELSE id END,
      CASE WHEN ref = 'charge:' || request THEN NULL ELSE ref END,
      CASE WHEN debit = ${sidesOfKind.debit} THEN NULL ELSE debit END,
      CASE WHEN credit = ${sidesOfKind.credit} THEN NULL ELSE credit END,
      ${plainColumns}
    FROM entry AS entry_row JOIN account_number USING (account) ORDER BY seq`,
  'DROP TABLE entry',
  'CREATE UNIQUE INDEX entry_once ON entry_row (ref, line)',
  'CREATE INDEX entry_by_account ON entry_row (account_number, seq)',
  'CREATE INDEX entry_by_key ON entry_row (api_key, created_at_ms) WHERE api_key IS NOT NULL',
  `CREATE INDEX entry_of_use ON entry_row (account_number, created_at_ms, seq)
    WHERE kind <> 'TOP_UP' AND kind <> 'GRANT'`,
  `CREATE INDEX entry_of_staking ON entry_row (account_number, created_at_ms, seq) WHERE kind = 'STAKING'`,
  `CREATE TRIGGER entry_is_never_updated BEFORE UPDATE ON entry_row
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
  `CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry_row
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
]

const numberOfNew = '(SELECT number FROM account_number WHERE account = NEW.account)'
const ownOfNew = 'NEW.id, NEW.ref, NEW.debit, NEW.credit'
const plainOfNew = plainColumns.replaceAll(/\w+/g, name => `NEW.${name}`)

/**
 * An entry as it is read, and as all entries except charges are written; the triggers that make entries append-only are
 * on its rows.
 */
const entryView = [
  `CREATE VIEW entry AS SELECT entry_row.seq, entry_row.id, entry_row.kind, account_number.account,
    coalesce(entry_row.own_debit, ${sidesOfKind.debit}) AS debit,
    coalesce(entry_row.own_credit, ${sidesOfKind.credit}) AS credit,
    entry_row.amount,
    CASE account_number.account WHEN coalesce(entry_row.own_credit, ${sidesOfKind.credit})
      THEN entry_row.amount ELSE -entry_row.amount END AS effect,
    entry_row.posted_after, entry_row.ref, entry_row.line, entry_row.request, entry_row.model, entry_row.sku,
    entry_row.units, entry_row.unit_price_pico_usd, entry_row.reason, entry_row.api_key, entry_row.budget_period,
    entry_row.budget_start_ms, entry_row.staking_day_ms, entry_row.created_at_ms
    FROM entry_row JOIN account_number ON account_number.number = entry_row.account_number`,
  `CREATE TRIGGER entry_is_added INSTEAD OF INSERT ON entry BEGIN
    INSERT INTO entry_row (account_number, own_id, own_ref, own_debit, own_credit, ${plainColumns})
      VALUES (${numberOfNew}, ${ownOfNew}, ${plainOfNew}); END`,
  `CREATE TRIGGER entry_is_changed INSTEAD OF UPDATE ON entry BEGIN
    UPDATE entry_row SET (account_number, own_id, own_ref, own_debit, own_credit, ${plainColumns})
      = (${numberOfNew}, ${ownOfNew}, ${plainOfNew}) WHERE seq = OLD.seq; END`,
  `CREATE TRIGGER entry_is_removed INSTEAD OF DELETE ON entry BEGIN
    DELETE FROM entry_row WHERE seq = OLD.seq; END`,
]

/**
 * Makes entries a third as large, with the same name and columns. The rows are copied, which takes a minute for 10⁷.
 */
export const smallEntries: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [...numberedAccounts, ...entryRows, ...entryView])
      await sql.raw(statement).execute(database)
  },
}

const foldedStatements = [
  `CREATE TABLE compaction (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    before_ms INTEGER NOT NULL,
    folding INTEGER NOT NULL CHECK (folding IN (0, 1))
  ) STRICT`,
  'DROP TRIGGER entry_is_never_deleted',
  `CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry_row
    WHEN NOT EXISTS (SELECT 1 FROM compaction WHERE folding = 1)
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
]

/** Entries may be replaced by their sums, within the one transaction that says so; to everyone else they are append-only. */
export const foldedEntries: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of foldedStatements) await sql.raw(statement).execute(database)
  },
}
