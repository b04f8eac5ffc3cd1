-- The database of the first release (migration 0001-first-release) after the units of first-ledger.ts, as text.
-- Written once by that release itself; never changed, because folders like it exist.
CREATE TABLE "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
CREATE TABLE "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
CREATE TABLE account (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('wallet', 'customer')),
    posted INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    suspended_at_ms INTEGER,
    suspended_reason TEXT,
    CHECK (held >= 0),
    CHECK (posted - held >= 0)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE wallet (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    hash TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    label TEXT NOT NULL,
    expires_at_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER,
    budget_period TEXT CHECK (budget_period IN ('epoch', 'month', 'lifetime')),
    budget_usd INTEGER CHECK (budget_usd >= 0),
    budget_staking_usd INTEGER CHECK (budget_staking_usd >= 0),
    role TEXT NOT NULL DEFAULT 'INFERENCE' CHECK (role IN ('INFERENCE', 'ADMIN')),
    ending TEXT NOT NULL DEFAULT ''
  ) STRICT, WITHOUT ROWID;
CREATE TABLE key_use (
    key TEXT NOT NULL REFERENCES api_key (id),
    period TEXT NOT NULL CHECK (period IN ('epoch', 'month', 'lifetime')),
    start_ms INTEGER NOT NULL,
    spent_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_usd >= 0),
    held_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_usd >= 0),
    spent_staking_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_staking_usd >= 0),
    held_staking_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_staking_usd >= 0),
    PRIMARY KEY (key, period, start_ms)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE staking_credit (
    account TEXT NOT NULL REFERENCES account (id),
    day_ms INTEGER NOT NULL,
    granted_usd INTEGER NOT NULL CHECK (granted_usd >= 0),
    spent_usd INTEGER NOT NULL DEFAULT 0 CHECK (spent_usd >= 0),
    held_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_usd >= 0),
    PRIMARY KEY (account, day_ms)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE customer (
    account TEXT PRIMARY KEY REFERENCES account (id),
    name TEXT,
    email TEXT,
    note TEXT,
    plan TEXT,
    changed_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE hold (
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
  ) STRICT, WITHOUT ROWID;
CREATE TABLE ended_hold (
    id TEXT PRIMARY KEY,
    how TEXT NOT NULL CHECK (how IN ('captured', 'released'))
  ) STRICT, WITHOUT ROWID;
CREATE TABLE unit (
    id TEXT PRIMARY KEY,
    balances TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE account_number (
    number INTEGER PRIMARY KEY,
    account TEXT NOT NULL UNIQUE REFERENCES account (id)
  ) STRICT;
CREATE TABLE entry_row (
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
  ) STRICT;
CREATE TABLE compaction (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    before_ms INTEGER NOT NULL,
    folding INTEGER NOT NULL CHECK (folding IN (0, 1))
  ) STRICT;
CREATE TABLE day_sum_row (
    day_ms INTEGER NOT NULL,
    account_number INTEGER NOT NULL,
    model TEXT NOT NULL,
    kind TEXT NOT NULL,
    effect_usd INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (day_ms, account_number, model, kind)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE nonce (
    id TEXT PRIMARY KEY,
    expires_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE job (
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
  ) STRICT;
CREATE TABLE job_input (
    job TEXT PRIMARY KEY REFERENCES job (id),
    input TEXT NOT NULL
  ) STRICT;
CREATE TABLE payment (
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
  ) STRICT;
CREATE TABLE limit_log (
    seq INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    key TEXT,
    model TEXT NOT NULL,
    tier TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('RPM', 'TPM', 'RPD', 'FAILED_REQUESTS')),
    created_at_ms INTEGER NOT NULL
  ) STRICT;
CREATE TABLE claim (
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
  ) STRICT, WITHOUT ROWID;
CREATE TABLE claim_answer (
    claim TEXT PRIMARY KEY REFERENCES claim (id) ON DELETE CASCADE,
    answer TEXT NOT NULL
  ) STRICT;
CREATE TABLE ledger_state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    state TEXT NOT NULL CHECK (state IN ('open', 'read_only')),
    reason TEXT NOT NULL,
    since_ms INTEGER NOT NULL
  ) STRICT;
CREATE TABLE secret_mark (
    generation INTEGER PRIMARY KEY CHECK (generation >= 1),
    mark TEXT NOT NULL,
    place TEXT NOT NULL,
    since_ms INTEGER NOT NULL
  ) STRICT;
CREATE TABLE receipt_key (
    id TEXT PRIMARY KEY,
    public_key TEXT NOT NULL,
    since_ms INTEGER NOT NULL
  ) STRICT;
CREATE TABLE operator (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    epoch TEXT NOT NULL,
    proofs TEXT NOT NULL,
    fence INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    changed_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE operator_act (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    act TEXT NOT NULL,
    account TEXT,
    subject TEXT,
    reason TEXT,
    before_change TEXT,
    after_change TEXT
  ) STRICT;
INSERT INTO kysely_migration (name, timestamp) VALUES ('0001-first-release', '2026-11-28T00:00:00.000Z');
INSERT INTO kysely_migration_lock (id, is_locked) VALUES ('migration_lock', 0);
INSERT INTO account (id, kind, posted, held, created_at_ms, suspended_at_ms, suspended_reason) VALUES ('customer:ada', 'customer', 8590000, 2000, 1800000000000, NULL, NULL);
INSERT INTO account (id, kind, posted, held, created_at_ms, suspended_at_ms, suspended_reason) VALUES ('wallet:0x00000000000000000000000000000000000000aa', 'wallet', 4999768, 11, 1800000000000, NULL, NULL);
INSERT INTO wallet (id, account, created_at_ms) VALUES ('0x00000000000000000000000000000000000000aa', 'wallet:0x00000000000000000000000000000000000000aa', 1800000000000);
INSERT INTO api_key (id, account, hash, prefix, label, expires_at_ms, created_at_ms, revoked_at_ms, budget_period, budget_usd, budget_staking_usd, role, ending) VALUES ('01a3185c-5000-7000-8000-00000000000a', 'customer:ada', '2d2ce91f:430ce788d019ab6661d6116bc348f66849271e3f886300d5a02e97516048a106', 'fb_exampl', 'laptop', NULL, 1800000000000, NULL, NULL, NULL, NULL, 'INFERENCE', '');
INSERT INTO api_key (id, account, hash, prefix, label, expires_at_ms, created_at_ms, revoked_at_ms, budget_period, budget_usd, budget_staking_usd, role, ending) VALUES ('01a3185c-5000-7000-8000-00000000000b', 'customer:ada', '2d2ce91f:0000000000000000000000000000000000000000000000000000000000000000', 'fb_exampl', 'less', NULL, 1800000000000, 1800000000000, 'month', 40000, NULL, 'INFERENCE', '');
INSERT INTO key_use (key, period, start_ms, spent_usd, held_usd, spent_staking_usd, held_staking_usd) VALUES ('01a3185c-5000-7000-8000-00000000000b', 'month', 1798761600000, 10000, 0, 0, 0);
INSERT INTO staking_credit (account, day_ms, granted_usd, spent_usd, held_usd) VALUES ('customer:ada', 1799971200000, 3000, 0, 0);
INSERT INTO customer (account, name, email, note, plan, changed_at_ms) VALUES ('customer:ada', 'Ada', 'ada@example.com', NULL, 'partner', 1800000000000);
INSERT INTO hold (id, account, amount, lease_owner, lease_until_ms, created_at_ms, staking_usd, staking_day_ms, api_key, budget_period, budget_start_ms, owed, budget_usd, budget_staking_usd) VALUES ('dead', 'wallet:0x00000000000000000000000000000000000000aa', 11, 'first', 1800000000000, 1800000000000, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO hold (id, account, amount, lease_owner, lease_until_ms, created_at_ms, staking_usd, staking_day_ms, api_key, budget_period, budget_start_ms, owed, budget_usd, budget_staking_usd) VALUES ('open', 'customer:ada', 2000, 'first', 1800007200000, 1800000000000, 0, NULL, NULL, NULL, NULL, '["open","demo-chat",[["output","1","1000000000","1000"]]]', NULL, NULL);
INSERT INTO ended_hold (id, how) VALUES ('chat', 'captured');
INSERT INTO ended_hold (id, how) VALUES ('film', 'captured');
INSERT INTO ended_hold (id, how) VALUES ('let go', 'released');
INSERT INTO ended_hold (id, how) VALUES ('lost', 'captured');
INSERT INTO ended_hold (id, how) VALUES ('staked', 'captured');
INSERT INTO ended_hold (id, how) VALUES ('within', 'captured');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000001', '1:9000000:0');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000002', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000003', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000004', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000005', '2:5000000:0');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000006', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000007', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000008', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000009', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000010', '2:5000000:9000');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000011', '2:4999768:0');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000012', '1:9000000:400000');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000013', '1:8600000:0');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000014', '1:8200000:0');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000015', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000016', '1:8600000:0');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000017', '1:8600000:70');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000018', '1:8600000:0');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000019', '1:8600000:1500');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000020', '1:8600000:2000');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000021', '2:4999768:11');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000022', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000023', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000024', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000025', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000026', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000027', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000028', '1:8590000:2000');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000029', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000030', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000031', '1:8590000:2500');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000032', '1:8589500:2000');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000033', '1:8590000:2000');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000034', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000035', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000036', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000037', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000038', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000039', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000040', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000041', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000042', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000043', '');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000044', '');
INSERT INTO account_number (number, account) VALUES (1, 'customer:ada');
INSERT INTO account_number (number, account) VALUES (2, 'wallet:0x00000000000000000000000000000000000000aa');
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (1, 1, 'GRANT', 9000000, 9000000, 0, NULL, NULL, NULL, NULL, NULL, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000001.0', 'grant:customer:ada', 'system:grant', 'customer:ada');
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (2, 2, 'TOP_UP', 5000000, 5000000, 0, NULL, NULL, NULL, NULL, NULL, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000005.0', 'topup:paid', 'system:usdc', 'wallet:0x00000000000000000000000000000000000000aa');
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (3, 2, 'CHARGE', 186, 4999814, 0, 'chat', 'demo-chat', 'input', 1234, 150001, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000011.0', NULL, NULL, NULL);
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (4, 2, 'CHARGE', 46, 4999768, 1, 'chat', 'demo-chat', 'output', 77, 600007, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000011.1', NULL, NULL, NULL);
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (5, 2, 'CHARGE', 0, 4999768, 2, 'chat', 'demo-chat', 'search', 3, 1, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000011.2', NULL, NULL, NULL);
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (6, 1, 'CHARGE', 400000, 8600000, 0, 'film', 'demo-video', 'demo-video', 4, 100000000000, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000013.0', NULL, NULL, NULL);
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (7, 1, 'CHARGE', 400000, 8200000, 0, 'lost', 'demo-video', 'demo-video', 4, 100000000000, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000014.0', NULL, NULL, NULL);
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (8, 1, 'REFUND', 400000, 8600000, 0, 'lost', 'demo-video', NULL, NULL, NULL, 1800000000000, NULL, NULL, NULL, NULL, 'The video failed.', '01a3185c-5000-7000-8000-000000000016.0', 'refund:lost', 'system:revenue', 'customer:ada');
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (9, 1, 'CHARGE', 10000, 8590000, 0, 'within', 'demo-chat', 'output', 10, 1000000000, 1800000000000, '01a3185c-5000-7000-8000-00000000000b', 'month', 1798761600000, NULL, NULL, '01a3185c-5000-7000-8000-000000000028.0', NULL, NULL, NULL);
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (10, 1, 'WRITE_OFF', 500, 8590500, 0, 'staked', 'demo-chat', NULL, NULL, NULL, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000032.0', 'writeoff:staked', 'system:writeoff', 'customer:ada');
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (11, 1, 'STAKING', 3000, 8593500, 0, 'staked', 'demo-chat', NULL, NULL, NULL, 1800000000000, NULL, NULL, NULL, 1799971200000, NULL, '01a3185c-5000-7000-8000-000000000032.1', 'staking:staked', 'system:staking', 'customer:ada');
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (12, 1, 'CHARGE', 4000, 8589500, 0, 'staked', 'demo-chat', 'output', 4, 1000000000, 1800000000000, NULL, NULL, NULL, NULL, NULL, '01a3185c-5000-7000-8000-000000000032.2', NULL, NULL, NULL);
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (13, 1, 'REFUND', 3500, 8593000, 0, 'staked', 'demo-chat', NULL, NULL, NULL, 1800000000000, NULL, NULL, NULL, NULL, 'A complaint.', '01a3185c-5000-7000-8000-000000000033.0', 'refund:staked', 'system:revenue', 'customer:ada');
INSERT INTO entry_row (seq, account_number, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, created_at_ms, api_key, budget_period, budget_start_ms, staking_day_ms, reason, own_id, own_ref, own_debit, own_credit) VALUES (14, 1, 'STAKING', 3000, 8590000, 0, 'staked', 'demo-chat', NULL, NULL, NULL, 1800000000000, NULL, NULL, NULL, 1799971200000, 'A complaint.', '01a3185c-5000-7000-8000-000000000033.1', 'staking-back:staked', 'customer:ada', 'system:staking');
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 1, '', 'GRANT', 9000000, 1, 0);
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 1, 'demo-chat', 'CHARGE', -14000, 2, 2);
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 1, 'demo-chat', 'REFUND', 3500, 1, 0);
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 1, 'demo-chat', 'STAKING', 0, 2, 0);
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 1, 'demo-chat', 'WRITE_OFF', 500, 1, 0);
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 1, 'demo-video', 'CHARGE', -800000, 2, 2);
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 1, 'demo-video', 'REFUND', 400000, 1, 0);
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 2, '', 'TOP_UP', 5000000, 1, 0);
INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests) VALUES (1799971200000, 2, 'demo-chat', 'CHARGE', -232, 3, 1);
INSERT INTO nonce (id, expires_at_ms) VALUES ('nonce', 1800000600000);
INSERT INTO job (id, account, model, request, engine_state, result, failure, state, fence, lease_owner, lease_until_ms, created_at_ms, updated_at_ms) VALUES ('film-job', 'customer:ada', 'demo-video', 'film', NULL, NULL, NULL, 'queued', 1, NULL, NULL, 1800000000000, 1800000000000);
INSERT INTO job (id, account, model, request, engine_state, result, failure, state, fence, lease_owner, lease_until_ms, created_at_ms, updated_at_ms) VALUES ('lost-job', 'customer:ada', 'demo-video', 'lost', NULL, NULL, '{"reason":"no frames"}', 'failed', 3, NULL, NULL, 1800000000000, 1800000000000);
INSERT INTO job_input (job, input) VALUES ('film-job', '{"prompt":"a boat"}');
INSERT INTO job_input (job, input) VALUES ('lost-job', '{"prompt":"a boat"}');
INSERT INTO payment (id, state, fence, network, payer, amount, payload, valid_before_seconds, transaction_id, answer, lease_owner, lease_until_ms, created_at_ms, updated_at_ms) VALUES ('paid', 'credited', 3, 'eip155:8453', '0x00000000000000000000000000000000000000aa', 5000000, '{}', NULL, '0xabababababababababababababababababababababababababababababababab', NULL, NULL, NULL, 1800000000000, 1800000000000);
INSERT INTO payment (id, state, fence, network, payer, amount, payload, valid_before_seconds, transaction_id, answer, lease_owner, lease_until_ms, created_at_ms, updated_at_ms) VALUES ('asked', 'unknown', 3, 'eip155:8453', '0x00000000000000000000000000000000000000aa', 5000000, '{}', NULL, NULL, NULL, NULL, NULL, 1800000000000, 1800000000000);
INSERT INTO payment (id, state, fence, network, payer, amount, payload, valid_before_seconds, transaction_id, answer, lease_owner, lease_until_ms, created_at_ms, updated_at_ms) VALUES ('refused', 'rejected', 2, 'eip155:8453', '0x00000000000000000000000000000000000000aa', 5000000, '{}', NULL, NULL, NULL, NULL, NULL, 1800000000000, 1800000000000);
INSERT INTO payment (id, state, fence, network, payer, amount, payload, valid_before_seconds, transaction_id, answer, lease_owner, lease_until_ms, created_at_ms, updated_at_ms) VALUES ('late', 'expired', 2, 'eip155:8453', '0x00000000000000000000000000000000000000aa', 5000000, '{}', NULL, NULL, NULL, NULL, NULL, 1800000000000, 1800000000000);
INSERT INTO limit_log (seq, account, key, model, tier, type, created_at_ms) VALUES (1, 'customer:ada', NULL, 'demo-chat', 'S', 'RPM', 1800000000000);
INSERT INTO claim (id, account, request, fingerprint, state, fence, lease_owner, lease_until_ms, created_at_ms, updated_at_ms) VALUES ('key of ada', 'customer:ada', 'within', 'asked', 'done', 2, NULL, NULL, 1800000000000, 1800000000000);
INSERT INTO claim_answer (claim, answer) VALUES ('key of ada', '{}');
INSERT INTO ledger_state (one, state, reason, since_ms) VALUES (1, 'open', 'It was replaced.', 1800000000000);
INSERT INTO secret_mark (generation, mark, place, since_ms) VALUES (1, '2d2ce91f', 'the first service', 1800000000000);
INSERT INTO receipt_key (id, public_key, since_ms) VALUES ('thumbprint', 'a public key', 1800000000000);
INSERT INTO operator (name, role, epoch, proofs, fence, created_at_ms, changed_at_ms) VALUES ('grace', 'owner', 'two', '{}', 2, 1800000000000, 1800000000000);
INSERT INTO operator_act (seq, at_ms, actor, act, account, subject, reason, before_change, after_change) VALUES (1, 1800000000000, 'grace', 'customer.suspend', 'wallet:0x00000000000000000000000000000000000000aa', NULL, 'A question.', NULL, NULL);
INSERT INTO operator_act (seq, at_ms, actor, act, account, subject, reason, before_change, after_change) VALUES (2, 1800000000000, 'grace', 'customer.resume', 'wallet:0x00000000000000000000000000000000000000aa', NULL, 'A question.', NULL, NULL);
CREATE INDEX wallet_by_account ON wallet (account);
CREATE INDEX api_key_by_account ON api_key (account);
CREATE INDEX hold_by_account ON hold (account);
CREATE INDEX hold_by_lease ON hold (lease_until_ms);
CREATE TRIGGER account_is_numbered AFTER INSERT ON account
    BEGIN INSERT INTO account_number (account) VALUES (NEW.id); END;
CREATE UNIQUE INDEX entry_once ON entry_row (ref, line);
CREATE INDEX entry_by_account ON entry_row (account_number, seq);
CREATE INDEX entry_by_key ON entry_row (api_key, created_at_ms) WHERE api_key IS NOT NULL;
CREATE INDEX entry_of_use ON entry_row (account_number, created_at_ms, seq)
    WHERE kind <> 'TOP_UP' AND kind <> 'GRANT';
CREATE INDEX entry_of_staking ON entry_row (account_number, created_at_ms, seq) WHERE kind = 'STAKING';
CREATE INDEX entry_of_kind ON entry_row (kind, seq) WHERE kind <> 'CHARGE';
CREATE TRIGGER entry_is_never_updated BEFORE UPDATE ON entry_row
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry_row
    WHEN NOT EXISTS (SELECT 1 FROM compaction WHERE folding = 1)
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE VIEW entry AS SELECT entry_row.seq, entry_row.id, entry_row.kind, account_number.account,
    coalesce(entry_row.own_debit, CASE entry_row.kind WHEN 'CHARGE' THEN account_number.account WHEN 'TOP_UP' THEN 'system:usdc'
    WHEN 'GRANT' THEN 'system:grant' WHEN 'REFUND' THEN 'system:revenue' WHEN 'WRITE_OFF' THEN 'system:writeoff'
    ELSE 'system:staking' END) AS debit,
    coalesce(entry_row.own_credit, CASE entry_row.kind WHEN 'CHARGE' THEN 'system:revenue' ELSE account_number.account END) AS credit,
    entry_row.amount,
    CASE account_number.account WHEN coalesce(entry_row.own_credit, CASE entry_row.kind WHEN 'CHARGE' THEN 'system:revenue' ELSE account_number.account END)
      THEN entry_row.amount ELSE -entry_row.amount END AS effect,
    entry_row.posted_after, entry_row.ref, entry_row.line, entry_row.request, entry_row.model, entry_row.sku,
    entry_row.units, entry_row.unit_price_pico_usd, entry_row.reason, entry_row.api_key, entry_row.budget_period,
    entry_row.budget_start_ms, entry_row.staking_day_ms, entry_row.created_at_ms
    FROM entry_row JOIN account_number ON account_number.number = entry_row.account_number;
CREATE TRIGGER entry_is_added INSTEAD OF INSERT ON entry BEGIN
    INSERT INTO entry_row (account_number, own_id, own_ref, own_debit, own_credit, seq, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, reason, api_key,
    budget_period, budget_start_ms, staking_day_ms, created_at_ms)
      VALUES ((SELECT number FROM account_number WHERE account = NEW.account), NEW.id, NEW.ref, NEW.debit, NEW.credit, NEW.seq, NEW.kind, NEW.amount, NEW.posted_after, NEW.line, NEW.request, NEW.model, NEW.sku, NEW.units, NEW.unit_price_pico_usd, NEW.reason, NEW.api_key,
    NEW.budget_period, NEW.budget_start_ms, NEW.staking_day_ms, NEW.created_at_ms); END;
CREATE TRIGGER entry_is_changed INSTEAD OF UPDATE ON entry BEGIN
    UPDATE entry_row SET (account_number, own_id, own_ref, own_debit, own_credit, seq, kind, amount, posted_after, line, request, model, sku, units, unit_price_pico_usd, reason, api_key,
    budget_period, budget_start_ms, staking_day_ms, created_at_ms)
      = ((SELECT number FROM account_number WHERE account = NEW.account), NEW.id, NEW.ref, NEW.debit, NEW.credit, NEW.seq, NEW.kind, NEW.amount, NEW.posted_after, NEW.line, NEW.request, NEW.model, NEW.sku, NEW.units, NEW.unit_price_pico_usd, NEW.reason, NEW.api_key,
    NEW.budget_period, NEW.budget_start_ms, NEW.staking_day_ms, NEW.created_at_ms) WHERE seq = OLD.seq; END;
CREATE TRIGGER entry_is_removed INSTEAD OF DELETE ON entry BEGIN
    DELETE FROM entry_row WHERE seq = OLD.seq; END;
CREATE INDEX day_sum_by_account ON day_sum_row (account_number, day_ms);
CREATE TRIGGER entry_is_summed AFTER INSERT ON entry_row
    WHEN NOT EXISTS (SELECT 1 FROM compaction WHERE folding = 1) BEGIN
      INSERT INTO day_sum_row (day_ms, account_number, model, kind, effect_usd, entries, requests)
        VALUES (NEW.created_at_ms - NEW.created_at_ms % 86400000, NEW.account_number, coalesce(NEW.model, ''), NEW.kind, CASE
  WHEN NEW.own_credit IS NULL THEN CASE NEW.kind WHEN 'CHARGE' THEN -NEW.amount ELSE NEW.amount END
  WHEN NEW.own_credit = (SELECT account FROM account_number WHERE number = NEW.account_number) THEN NEW.amount
  ELSE -NEW.amount END,
          1, NEW.kind = 'CHARGE' AND NEW.line = 0)
        ON CONFLICT (day_ms, account_number, model, kind) DO UPDATE SET effect_usd = effect_usd + excluded.effect_usd,
          entries = entries + 1, requests = requests + excluded.requests; END;
CREATE VIEW day_sum AS SELECT day_sum_row.day_ms, account_number.account, day_sum_row.model, day_sum_row.kind,
    day_sum_row.effect_usd, day_sum_row.entries, day_sum_row.requests
    FROM day_sum_row JOIN account_number ON account_number.number = day_sum_row.account_number;
CREATE INDEX nonce_by_expiry ON nonce (expires_at_ms);
CREATE INDEX job_by_state ON job (state, lease_until_ms);
CREATE INDEX job_by_model ON job (model, state, id);
CREATE INDEX job_with_file ON job (id) WHERE result IS NOT NULL AND result <> 'null';
CREATE INDEX job_by_account ON job (account, created_at_ms);
CREATE INDEX payment_by_state ON payment (state, lease_until_ms);
CREATE INDEX payment_by_time ON payment (created_at_ms, id);
CREATE INDEX limit_log_by_account ON limit_log (account, seq);
CREATE INDEX limit_log_by_time ON limit_log (created_at_ms);
CREATE INDEX claim_by_age ON claim (created_at_ms);
CREATE INDEX operator_act_by_account ON operator_act (account, seq) WHERE account IS NOT NULL;
CREATE TRIGGER operator_act_is_never_updated BEFORE UPDATE ON operator_act
    BEGIN SELECT RAISE(ABORT, 'operator acts are append-only'); END;
CREATE TRIGGER operator_act_is_never_deleted BEFORE DELETE ON operator_act
    BEGIN SELECT RAISE(ABORT, 'operator acts are append-only'); END;
