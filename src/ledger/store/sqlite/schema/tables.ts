import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Accounts by number, for everything that is written with each charge: an id would take 45 bytes each time. */
const numberedAccounts = [
  `CREATE TABLE account_number (
    number INTEGER PRIMARY KEY,
    account TEXT NOT NULL UNIQUE REFERENCES account (id)
  ) STRICT`,
  `CREATE TRIGGER account_is_numbered AFTER INSERT ON account
    BEGIN INSERT INTO account_number (account) VALUES (NEW.id); END`,
]

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
  'CREATE UNIQUE INDEX entry_once ON entry_row (ref, line)',
  'CREATE INDEX entry_by_account ON entry_row (account_number, seq)',
  'CREATE INDEX entry_by_key ON entry_row (api_key, created_at_ms) WHERE api_key IS NOT NULL',
  // An account's use by time: a page of it and its count are read from the index, however many others there are.
  `CREATE INDEX entry_of_use ON entry_row (account_number, created_at_ms, seq)
    WHERE kind <> 'TOP_UP' AND kind <> 'GRANT'`,
  `CREATE INDEX entry_of_staking ON entry_row (account_number, created_at_ms, seq) WHERE kind = 'STAKING'`,
  "CREATE INDEX entry_of_kind ON entry_row (kind, seq) WHERE kind <> 'CHARGE'",
  `CREATE TRIGGER entry_is_never_updated BEFORE UPDATE ON entry_row
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
  `CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry_row
    WHEN NOT EXISTS (SELECT 1 FROM compaction WHERE folding = 1)
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`,
  // Months whose entries have been replaced by their sums; `folding` marks the one transaction that does it.
  `CREATE TABLE compaction (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    before_ms INTEGER NOT NULL,
    folding INTEGER NOT NULL CHECK (folding IN (0, 1))
  ) STRICT`,
]

/** Both sides of an entry, where they are not stored. */
const sidesOfKind = {
  debit: `CASE entry_row.kind WHEN 'CHARGE' THEN account_number.account WHEN 'TOP_UP' THEN 'system:usdc'
    WHEN 'GRANT' THEN 'system:grant' WHEN 'REFUND' THEN 'system:revenue' WHEN 'WRITE_OFF' THEN 'system:writeoff'
    ELSE 'system:staking' END`,
  credit: `CASE entry_row.kind WHEN 'CHARGE' THEN 'system:revenue' ELSE account_number.account END`,
}

/** An entry's members other than its names, its account and both sides. */
const plainColumns = `seq, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, reason, api_key,
    budget_period, budget_start_ms, staking_day_ms, created_at_ms`

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

/** How a new entry changes its account's balance; if its sides are stored, they are compared. */
const effectOfNew = `CASE
  WHEN NEW.own_credit IS NULL THEN CASE NEW.kind WHEN 'CHARGE' THEN -NEW.amount ELSE NEW.amount END
  WHEN NEW.own_credit = (SELECT account FROM account_number WHERE number = NEW.account_number) THEN NEW.amount
  ELSE -NEW.amount END`

const sumColumns = 'day_ms, account_number, model, kind, effect_usd, entries, requests'

/**
 * Sums of entries by UTC day, account, model and kind, written in the transaction of each entry, so that they match the
 * ledger at any moment. Folding does not change them: days of old months stay separate.
 */
const daySums = [
  `CREATE TABLE day_sum_row (
    day_ms INTEGER NOT NULL,
    account_number INTEGER NOT NULL,
    model TEXT NOT NULL,
    kind TEXT NOT NULL,
    effect_usd INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (day_ms, account_number, model, kind)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX day_sum_by_account ON day_sum_row (account_number, day_ms)',
  `CREATE TRIGGER entry_is_summed AFTER INSERT ON entry_row
    WHEN NOT EXISTS (SELECT 1 FROM compaction WHERE folding = 1) BEGIN
      INSERT INTO day_sum_row (${sumColumns})
        VALUES (NEW.created_at_ms - NEW.created_at_ms % 86400000, NEW.account_number, coalesce(NEW.model, ''), NEW.kind, ${effectOfNew},
          1, NEW.kind = 'CHARGE' AND NEW.line = 0)
        ON CONFLICT (day_ms, account_number, model, kind) DO UPDATE SET effect_usd = effect_usd + excluded.effect_usd,
          entries = entries + 1, requests = requests + excluded.requests; END`,
  `CREATE VIEW day_sum AS SELECT day_sum_row.day_ms, account_number.account, day_sum_row.model, day_sum_row.kind,
    day_sum_row.effect_usd, day_sum_row.entries, day_sum_row.requests
    FROM day_sum_row JOIN account_number ON account_number.number = day_sum_row.account_number`,
]

export const entryTables: readonly string[] = [...numberedAccounts, ...entryRows, ...entryView, ...daySums]

const period = "IN ('epoch', 'month', 'lifetime')"

/** Accounts, how they identify themselves, and what else than their USD limits or pays for their calls. */
const accounts = [
  `CREATE TABLE account (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('wallet', 'customer')),
    posted INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    suspended_at_ms INTEGER,
    suspended_reason TEXT,
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
    revoked_at_ms INTEGER,
    budget_period TEXT CHECK (budget_period ${period}),
    budget_usd INTEGER CHECK (budget_usd >= 0),
    budget_staking_usd INTEGER CHECK (budget_staking_usd >= 0),
    role TEXT NOT NULL DEFAULT 'INFERENCE' CHECK (role IN ('INFERENCE', 'ADMIN')),
    ending TEXT NOT NULL DEFAULT ''
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX api_key_by_account ON api_key (account)',
  `CREATE TABLE key_use (
    key TEXT NOT NULL REFERENCES api_key (id),
    period TEXT NOT NULL CHECK (period ${period}),
    start_ms INTEGER NOT NULL,
    spent_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_usd >= 0),
    held_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_usd >= 0),
    spent_staking_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_staking_usd >= 0),
    held_staking_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_staking_usd >= 0),
    PRIMARY KEY (key, period, start_ms)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE staking_credit (
    account TEXT NOT NULL REFERENCES account (id),
    day_ms INTEGER NOT NULL,
    granted_usd INTEGER NOT NULL CHECK (granted_usd >= 0),
    spent_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_usd >= 0),
    held_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_usd >= 0),
    PRIMARY KEY (account, day_ms)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE customer (
    account TEXT PRIMARY KEY REFERENCES account (id),
    name TEXT,
    email TEXT,
    note TEXT,
    plan TEXT,
    changed_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
]

/** The limits with which a hold was opened stay with it, whatever becomes of its key's budget. */
const holds = [
  `CREATE TABLE hold (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    amount INTEGER NOT NULL CHECK (amount >= 0),
    lease_owner TEXT NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    staking_usd INTEGER NOT NULL DEFAULT 0 CHECK (staking_usd BETWEEN 0 AND amount),
    staking_day_ms INTEGER,
    api_key TEXT,
    budget_period TEXT,
    budget_start_ms INTEGER,
    owed TEXT,
    budget_usd INTEGER CHECK (budget_usd >= 0),
    budget_staking_usd INTEGER CHECK (budget_staking_usd >= 0)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX hold_by_account ON hold (account)',
  'CREATE INDEX hold_by_lease ON hold (lease_until_ms)',
  `CREATE TABLE ended_hold (
    id TEXT PRIMARY KEY,
    how TEXT NOT NULL CHECK (how IN ('captured', 'released'))
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE unit (
    id TEXT PRIMARY KEY,
    balances TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
]

export const accountTables: readonly string[] = [...accounts, ...holds]

/** What calls need beside money: jobs, payments, replayed answers, limits, and each nonce once. */
const calls = [
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
  'CREATE INDEX payment_by_time ON payment (created_at_ms, id)',
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

const secrets = [
  // Which secret made the hashes of API keys, so that a service with another secret is told before it creates keys.
  `CREATE TABLE secret_mark (
    generation INTEGER PRIMARY KEY CHECK (generation >= 1),
    mark TEXT NOT NULL,
    place TEXT NOT NULL,
    since_ms INTEGER NOT NULL
  ) STRICT`,
  // Public keys of receipts, so that a receipt can be verified long after the secret that signed it is gone.
  `CREATE TABLE receipt_key (
    id TEXT PRIMARY KEY,
    public_key TEXT NOT NULL,
    since_ms INTEGER NOT NULL
  ) STRICT`,
]

/** Operators with a name, who sign in to the console without a terminal, and the log of what operators did. */
const operators = [
  `CREATE TABLE operator (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    epoch TEXT NOT NULL,
    proofs TEXT NOT NULL,
    fence INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    changed_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE operator_act (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    act TEXT NOT NULL,
    account TEXT,
    subject TEXT,
    reason TEXT,
    before_change TEXT,
    after_change TEXT
  ) STRICT`,
  'CREATE INDEX operator_act_by_account ON operator_act (account, seq) WHERE account IS NOT NULL',
  `CREATE TRIGGER operator_act_is_never_updated BEFORE UPDATE ON operator_act
    BEGIN SELECT RAISE(ABORT, 'operator acts are append-only'); END`,
  `CREATE TRIGGER operator_act_is_never_deleted BEFORE DELETE ON operator_act
    BEGIN SELECT RAISE(ABORT, 'operator acts are append-only'); END`,
]

/** All other tables. */
export const workTables: readonly string[] = [...calls, ...secrets, ...operators]

/** One statement each, because a prepared statement ignores what follows its first semicolon. */
const firstRelease: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [...accountTables, ...entryTables, ...workTables])
      await sql.raw(statement).execute(database)
  },
}

/**
 * Applied in the order of their names. A database never applies one twice, so a released migration never changes: the
 * next release adds another, which makes its changes to the tables of the first.
 */
export const migrations: Record<string, Migration> = {
  '0001-first-release': firstRelease,
}
