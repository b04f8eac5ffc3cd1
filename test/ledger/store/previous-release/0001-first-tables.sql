-- The database of the first release (migrations up to 0001-first-tables) after the units of first-ledger.ts, as text.
-- Written once by that release itself; never changed, because folders like it exist.
CREATE TABLE "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
CREATE TABLE "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
CREATE TABLE account (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('wallet', 'customer')),
    posted INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
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
    revoked_at_ms INTEGER
  ) STRICT, WITHOUT ROWID;
CREATE TABLE hold (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL REFERENCES account (id),
    amount INTEGER NOT NULL CHECK (amount >= 0),
    lease_owner TEXT NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE ended_hold (
    id TEXT PRIMARY KEY,
    how TEXT NOT NULL CHECK (how IN ('captured', 'released'))
  ) STRICT, WITHOUT ROWID;
CREATE TABLE unit (
    id TEXT PRIMARY KEY,
    balances TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE entry (
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
  ) STRICT;
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
INSERT INTO kysely_migration (name, timestamp) VALUES ('0001-first-tables', '2026-11-21T20:37:17.312Z');
INSERT INTO kysely_migration_lock (id, is_locked) VALUES ('migration_lock', 0);
INSERT INTO account (id, kind, posted, held, created_at_ms) VALUES ('customer:ada', 'customer', 8600000, 2000, 1800000000000);
INSERT INTO account (id, kind, posted, held, created_at_ms) VALUES ('wallet:0x00000000000000000000000000000000000000aa', 'wallet', 4999768, 11, 1800000000000);
INSERT INTO wallet (id, account, created_at_ms) VALUES ('0x00000000000000000000000000000000000000aa', 'wallet:0x00000000000000000000000000000000000000aa', 1800000000000);
INSERT INTO api_key (id, account, hash, prefix, label, expires_at_ms, created_at_ms, revoked_at_ms) VALUES ('01a3185c-5000-7000-8000-00000000000a', 'customer:ada', '430ce788d019ab6661d6116bc348f66849271e3f886300d5a02e97516048a106', 'fb_exampl', 'laptop', NULL, 1800000000000, NULL);
INSERT INTO hold (id, account, amount, lease_owner, lease_until_ms, created_at_ms) VALUES ('dead', 'wallet:0x00000000000000000000000000000000000000aa', 11, 'first', 1800000000000, 1800000000000);
INSERT INTO hold (id, account, amount, lease_owner, lease_until_ms, created_at_ms) VALUES ('open', 'customer:ada', 2000, 'first', 1800003600000, 1800000000000);
INSERT INTO ended_hold (id, how) VALUES ('chat', 'captured');
INSERT INTO ended_hold (id, how) VALUES ('film', 'captured');
INSERT INTO ended_hold (id, how) VALUES ('let go', 'released');
INSERT INTO ended_hold (id, how) VALUES ('lost', 'captured');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000000:key', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000001', '[["customer:ada","9000000","0"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000002', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000003', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000004', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000005', '[["wallet:0x00000000000000000000000000000000000000aa","5000000","0"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000006', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000007', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000008', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000009', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000010', '[["wallet:0x00000000000000000000000000000000000000aa","5000000","9000"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000011', '[["wallet:0x00000000000000000000000000000000000000aa","4999768","0"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000012', '[["customer:ada","9000000","400000"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000013', '[["customer:ada","8600000","0"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000014', '[["customer:ada","8200000","0"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000015', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000016', '[["customer:ada","8600000","0"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000017', '[["customer:ada","8600000","70"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000018', '[["customer:ada","8600000","0"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000019', '[["customer:ada","8600000","1500"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000020', '[["customer:ada","8600000","2000"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000021', '[["wallet:0x00000000000000000000000000000000000000aa","4999768","11"]]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000022', '[]');
INSERT INTO unit (id, balances) VALUES ('01a3185c-5000-7000-8000-000000000023', '[]');
INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units, unit_price_pico_usd, reason, created_at_ms) VALUES (1, '01a3185c-5000-7000-8000-000000000001.0', 'GRANT', 'customer:ada', 'system:grant', 'customer:ada', 9000000, 9000000, 'grant:customer:ada', 0, NULL, NULL, NULL, NULL, NULL, NULL, 1800000000000);
INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units, unit_price_pico_usd, reason, created_at_ms) VALUES (2, '01a3185c-5000-7000-8000-000000000005.0', 'TOP_UP', 'wallet:0x00000000000000000000000000000000000000aa', 'system:usdc', 'wallet:0x00000000000000000000000000000000000000aa', 5000000, 5000000, 'topup:paid', 0, NULL, NULL, NULL, NULL, NULL, NULL, 1800000000000);
INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units, unit_price_pico_usd, reason, created_at_ms) VALUES (3, '01a3185c-5000-7000-8000-000000000011.0', 'CHARGE', 'wallet:0x00000000000000000000000000000000000000aa', 'wallet:0x00000000000000000000000000000000000000aa', 'system:revenue', 186, 4999814, 'charge:chat', 0, 'chat', 'demo-chat', 'input', 1234, 150001, NULL, 1800000000000);
INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units, unit_price_pico_usd, reason, created_at_ms) VALUES (4, '01a3185c-5000-7000-8000-000000000011.1', 'CHARGE', 'wallet:0x00000000000000000000000000000000000000aa', 'wallet:0x00000000000000000000000000000000000000aa', 'system:revenue', 46, 4999768, 'charge:chat', 1, 'chat', 'demo-chat', 'output', 77, 600007, NULL, 1800000000000);
INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units, unit_price_pico_usd, reason, created_at_ms) VALUES (5, '01a3185c-5000-7000-8000-000000000011.2', 'CHARGE', 'wallet:0x00000000000000000000000000000000000000aa', 'wallet:0x00000000000000000000000000000000000000aa', 'system:revenue', 0, 4999768, 'charge:chat', 2, 'chat', 'demo-chat', 'search', 3, 1, NULL, 1800000000000);
INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units, unit_price_pico_usd, reason, created_at_ms) VALUES (6, '01a3185c-5000-7000-8000-000000000013.0', 'CHARGE', 'customer:ada', 'customer:ada', 'system:revenue', 400000, 8600000, 'charge:film', 0, 'film', 'demo-video', 'demo-video', 4, 100000000000, NULL, 1800000000000);
INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units, unit_price_pico_usd, reason, created_at_ms) VALUES (7, '01a3185c-5000-7000-8000-000000000014.0', 'CHARGE', 'customer:ada', 'customer:ada', 'system:revenue', 400000, 8200000, 'charge:lost', 0, 'lost', 'demo-video', 'demo-video', 4, 100000000000, NULL, 1800000000000);
INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, request, model, sku, units, unit_price_pico_usd, reason, created_at_ms) VALUES (8, '01a3185c-5000-7000-8000-000000000016.0', 'REFUND', 'customer:ada', 'system:revenue', 'customer:ada', 400000, 8600000, 'refund:lost', 0, 'lost', 'demo-video', NULL, NULL, NULL, 'The video failed.', 1800000000000);
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
CREATE INDEX wallet_by_account ON wallet (account);
CREATE INDEX api_key_by_account ON api_key (account);
CREATE UNIQUE INDEX entry_once ON entry (ref, line);
CREATE INDEX entry_by_account ON entry (account, seq);
CREATE TRIGGER entry_is_never_updated BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE INDEX nonce_by_expiry ON nonce (expires_at_ms);
CREATE INDEX job_by_state ON job (state, lease_until_ms);
CREATE INDEX job_by_model ON job (model, state, id);
CREATE INDEX job_with_file ON job (id) WHERE result IS NOT NULL AND result <> 'null';
CREATE INDEX job_by_account ON job (account, created_at_ms);
CREATE INDEX payment_by_state ON payment (state, lease_until_ms);
CREATE INDEX limit_log_by_account ON limit_log (account, seq);
CREATE INDEX limit_log_by_time ON limit_log (created_at_ms);
