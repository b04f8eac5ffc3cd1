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
