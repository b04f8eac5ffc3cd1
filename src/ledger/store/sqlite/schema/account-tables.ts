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
