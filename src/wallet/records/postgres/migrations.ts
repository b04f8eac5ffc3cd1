import type { Migration } from '../state.ts'

/**
 * The tables of the file's journal, with the same names so that one statement serves both, and three additions: the row
 * that decisions queue for, the units that show whether a COMMIT without an answer took effect, and the database's
 * clock. `rowid` replaces what SQLite gives every row.
 */
export const postgresMigrations: readonly Migration[] = [
  {
    name: '0001-journal',
    sql: `
      CREATE TABLE journal (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL DEFAULT gen_random_uuid()::text
      );
      INSERT INTO journal (one) VALUES (1);

      CREATE TABLE units (id TEXT PRIMARY KEY, at_ms BIGINT NOT NULL);
      CREATE INDEX units_by_time ON units (at_ms);

      CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE
        AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

      CREATE TABLE payments (
        rowid BIGINT GENERATED ALWAYS AS IDENTITY,
        id TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('planned', 'signed', 'sent', 'unknown', 'confirmed', 'dead')),
        counts INTEGER NOT NULL CHECK (counts IN (0, 1)),
        occasion TEXT NOT NULL CHECK (occasion IN ('after-402', 'asked')),
        purpose TEXT NOT NULL,
        address TEXT NOT NULL,
        origin TEXT NOT NULL,
        network TEXT NOT NULL,
        asset TEXT NOT NULL,
        pay_to TEXT NOT NULL,
        amount_micro_usd BIGINT NOT NULL CHECK (amount_micro_usd > 0),
        created_at_ms BIGINT NOT NULL,
        updated_at_ms BIGINT NOT NULL,
        nonce TEXT UNIQUE,
        valid_before_ms BIGINT,
        payload TEXT,
        sends INTEGER NOT NULL DEFAULT 0,
        rejected INTEGER NOT NULL DEFAULT 0 CHECK (rejected IN (0, 1)),
        reason TEXT,
        confirmed_at_ms BIGINT,
        credited_micro_usd BIGINT,
        balance_micro_usd BIGINT,
        transaction_hash TEXT,
        CHECK (state IN ('planned', 'dead') OR nonce IS NOT NULL),
        CHECK (state NOT IN ('signed', 'sent', 'unknown') OR payload IS NOT NULL),
        CHECK (counts = 1 OR state = 'dead')
      );
      CREATE INDEX payments_open ON payments (state) WHERE state IN ('planned', 'signed', 'sent', 'unknown');
      CREATE INDEX payments_by_time ON payments (created_at_ms);

      CREATE TABLE payment_steps (
        payment_id TEXT NOT NULL REFERENCES payments (id),
        at_ms BIGINT NOT NULL,
        state TEXT NOT NULL,
        note TEXT
      );
      CREATE INDEX payment_steps_of ON payment_steps (payment_id);

      CREATE TABLE top_up_lease (
        "only" INTEGER PRIMARY KEY CHECK ("only" = 1),
        token TEXT NOT NULL,
        owner TEXT NOT NULL,
        expires_at_ms BIGINT NOT NULL
      );

      CREATE TABLE payees (
        origin TEXT NOT NULL,
        network TEXT NOT NULL,
        asset TEXT NOT NULL,
        pay_to TEXT NOT NULL,
        approved_at_ms BIGINT NOT NULL,
        approved_by TEXT NOT NULL,
        PRIMARY KEY (origin, network, asset, pay_to)
      );

      CREATE TABLE approvals (
        rowid BIGINT GENERATED ALWAYS AS IDENTITY,
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('consent', 'spend', 'payee')),
        request_hash TEXT NOT NULL,
        facts TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
        created_at_ms BIGINT NOT NULL,
        expires_at_ms BIGINT NOT NULL,
        decided_at_ms BIGINT,
        decided_by TEXT,
        used_by TEXT
      );
      CREATE INDEX approvals_by_request ON approvals (kind, request_hash);

      CREATE TABLE stops (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        at_ms BIGINT NOT NULL,
        by_whom TEXT NOT NULL
      );
    `,
  },
  {
    name: '0002-owner-of-the-journal',
    sql: `
      CREATE TABLE journal_owner (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        address TEXT NOT NULL,
        since_ms BIGINT NOT NULL
      );
    `,
  },
  {
    name: '0003-refusals',
    sql: `
      CREATE TABLE refusals (
        rowid BIGINT GENERATED ALWAYS AS IDENTITY,
        id TEXT PRIMARY KEY,
        same TEXT NOT NULL,
        rule TEXT NOT NULL,
        sentence TEXT NOT NULL,
        first_at_ms BIGINT NOT NULL,
        last_at_ms BIGINT NOT NULL,
        times INTEGER NOT NULL DEFAULT 1,
        address TEXT,
        origin TEXT NOT NULL,
        operation TEXT,
        network TEXT,
        asset TEXT,
        pay_to TEXT,
        amount_micro_usd TEXT,
        limit_micro_usd TEXT,
        left_micro_usd TEXT,
        request_hash TEXT
      );
      CREATE INDEX refusals_by_same ON refusals (same, first_at_ms);
      CREATE INDEX refusals_by_time ON refusals (last_at_ms);
      ALTER TABLE approvals ADD COLUMN origin TEXT;
      ALTER TABLE approvals ADD COLUMN operation TEXT;
      ALTER TABLE approvals ADD COLUMN address TEXT;
      ALTER TABLE approvals ADD COLUMN noted INTEGER NOT NULL DEFAULT 0 CHECK (noted IN (0, 1));
    `,
  },
  {
    name: '0004-life-on-solana',
    sql: `
      ALTER TABLE payments ADD COLUMN last_valid_height BIGINT;
      ALTER TABLE payments ADD COLUMN memo TEXT;
    `,
  },
  {
    name: '0005-refills',
    sql: `
      ALTER TABLE payments DROP CONSTRAINT payments_occasion_check;
      ALTER TABLE payments ADD CHECK (occasion IN ('after-402', 'asked', 'refill'));

      CREATE TABLE refills (
        origin TEXT NOT NULL,
        address TEXT NOT NULL,
        payment_id TEXT,
        before_micro_usd BIGINT NOT NULL DEFAULT 0,
        halted INTEGER NOT NULL DEFAULT 0 CHECK (halted IN (0, 1)),
        not_before_ms BIGINT NOT NULL,
        note TEXT,
        PRIMARY KEY (origin, address)
      );
    `,
  },
  {
    name: '0006-what-a-question-is-about',
    sql: 'ALTER TABLE approvals ADD COLUMN about TEXT;',
  },
  {
    name: '0007-attested-media',
    sql: `
      CREATE TABLE attested_media (
        origin TEXT NOT NULL,
        medium TEXT NOT NULL,
        is_address INTEGER NOT NULL CHECK (is_address IN (0, 1)),
        facts TEXT NOT NULL,
        at_ms BIGINT NOT NULL,
        PRIMARY KEY (origin, medium)
      );
      CREATE INDEX attested_media_by_time ON attested_media (at_ms);
    `,
  },
  {
    name: '0008-transfers',
    sql: `
      CREATE TABLE transfers (
        rowid BIGINT GENERATED ALWAYS AS IDENTITY,
        id TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('planned', 'signed', 'sent', 'unknown', 'confirmed', 'dead')),
        address TEXT NOT NULL,
        network TEXT NOT NULL,
        asset TEXT NOT NULL,
        pay_to TEXT NOT NULL,
        amount_micro_usd BIGINT NOT NULL CHECK (amount_micro_usd > 0),
        settler TEXT NOT NULL,
        by_whom TEXT NOT NULL,
        created_at_ms BIGINT NOT NULL,
        nonce TEXT UNIQUE,
        valid_before_ms BIGINT,
        last_valid_height BIGINT,
        memo TEXT,
        payload TEXT,
        reason TEXT,
        confirmed_at_ms BIGINT,
        transaction_hash TEXT,
        CHECK (state IN ('planned', 'dead') OR nonce IS NOT NULL),
        CHECK (state NOT IN ('signed', 'sent', 'unknown') OR payload IS NOT NULL)
      );
      CREATE INDEX transfers_open ON transfers (address) WHERE state IN ('planned', 'signed', 'sent', 'unknown');
      CREATE INDEX transfers_by_time ON transfers (created_at_ms);

      CREATE TABLE transfer_steps (
        transfer_id TEXT NOT NULL REFERENCES transfers (id),
        at_ms BIGINT NOT NULL,
        state TEXT NOT NULL,
        note TEXT
      );
    `,
  },
]
