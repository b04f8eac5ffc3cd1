import type { Migration } from './state.ts'

/**
 * `payments` is both the journal and the budget: what counts against the caps is a sum over it. `payment_steps` is
 * append-only. `top_up_lease` has a single row that names who may top up; `stops` has one while nothing may be signed.
 */
export const walletMigrations: readonly Migration[] = [
  {
    name: '0001-journal-and-approvals',
    sql: `
      CREATE TABLE payments (
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
        amount_micro_usd INTEGER NOT NULL CHECK (amount_micro_usd > 0),
        created_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        nonce TEXT UNIQUE,
        valid_before_ms INTEGER,
        payload TEXT,
        sends INTEGER NOT NULL DEFAULT 0,
        rejected INTEGER NOT NULL DEFAULT 0 CHECK (rejected IN (0, 1)),
        reason TEXT,
        confirmed_at_ms INTEGER,
        credited_micro_usd INTEGER,
        balance_micro_usd INTEGER,
        transaction_hash TEXT,
        CHECK (state IN ('planned', 'dead') OR nonce IS NOT NULL),
        CHECK (state NOT IN ('signed', 'sent', 'unknown') OR payload IS NOT NULL),
        CHECK (counts = 1 OR state = 'dead')
      ) STRICT;
      CREATE INDEX payments_open ON payments (state) WHERE state IN ('planned', 'signed', 'sent', 'unknown');
      CREATE INDEX payments_by_time ON payments (created_at_ms);

      CREATE TABLE payment_steps (
        payment_id TEXT NOT NULL REFERENCES payments (id),
        at_ms INTEGER NOT NULL,
        state TEXT NOT NULL,
        note TEXT
      ) STRICT;
      CREATE INDEX payment_steps_of ON payment_steps (payment_id);

      CREATE TABLE top_up_lease (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        token TEXT NOT NULL,
        pid INTEGER NOT NULL,
        host TEXT NOT NULL,
        expires_at_ms INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE payees (
        origin TEXT NOT NULL,
        network TEXT NOT NULL,
        asset TEXT NOT NULL,
        pay_to TEXT NOT NULL,
        approved_at_ms INTEGER NOT NULL,
        approved_by TEXT NOT NULL,
        PRIMARY KEY (origin, network, asset, pay_to)
      ) STRICT;

      CREATE TABLE approvals (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('consent', 'spend', 'payee')),
        request_hash TEXT NOT NULL,
        facts TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER NOT NULL,
        decided_at_ms INTEGER,
        decided_by TEXT,
        used_by TEXT
      ) STRICT;
      CREATE INDEX approvals_by_request ON approvals (kind, request_hash);
    `,
  },
  {
    // A lease held during the migration is lost, which its holder notices before its next step.
    name: '0002-lease-names-its-process',
    sql: `
      DROP TABLE top_up_lease;
      CREATE TABLE top_up_lease (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        token TEXT NOT NULL,
        owner TEXT NOT NULL,
        expires_at_ms INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    name: '0003-switch-for-all',
    sql: `
      CREATE TABLE stops (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        at_ms INTEGER NOT NULL,
        by_whom TEXT NOT NULL
      ) STRICT;
    `,
  },
  {
    // Distinguishes a folder that was moved from another one.
    name: '0004-name-of-the-journal',
    sql: `
      CREATE TABLE journal (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL
      ) STRICT;
      INSERT INTO journal (one, id) VALUES (1, lower(hex(randomblob(16))));
    `,
  },
  {
    name: '0005-owner-of-the-journal',
    sql: `
      CREATE TABLE journal_owner (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        address TEXT NOT NULL,
        since_ms INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    // Amounts are texts, because a service may ask for more than a number holds. `noted` marks requests whose end is
    // recorded.
    name: '0006-refusals',
    sql: `
      CREATE TABLE refusals (
        id TEXT PRIMARY KEY,
        same TEXT NOT NULL,
        rule TEXT NOT NULL,
        sentence TEXT NOT NULL,
        first_at_ms INTEGER NOT NULL,
        last_at_ms INTEGER NOT NULL,
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
      ) STRICT;
      CREATE INDEX refusals_by_same ON refusals (same, first_at_ms);
      CREATE INDEX refusals_by_time ON refusals (last_at_ms);
      ALTER TABLE approvals ADD COLUMN origin TEXT;
      ALTER TABLE approvals ADD COLUMN operation TEXT;
      ALTER TABLE approvals ADD COLUMN address TEXT;
      ALTER TABLE approvals ADD COLUMN noted INTEGER NOT NULL DEFAULT 0 CHECK (noted IN (0, 1));
    `,
  },
  {
    name: '0007-life-on-solana',
    sql: `
      ALTER TABLE payments ADD COLUMN last_valid_height INTEGER;
      ALTER TABLE payments ADD COLUMN memo TEXT;
    `,
  },
  {
    // SQLite cannot alter a CHECK, so payments and their steps move into tables that allow refills, in order.
    name: '0008-refills',
    sql: `
      CREATE TABLE new_payments (
        id TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('planned', 'signed', 'sent', 'unknown', 'confirmed', 'dead')),
        counts INTEGER NOT NULL CHECK (counts IN (0, 1)),
        occasion TEXT NOT NULL CHECK (occasion IN ('after-402', 'asked', 'refill')),
        purpose TEXT NOT NULL,
        address TEXT NOT NULL,
        origin TEXT NOT NULL,
        network TEXT NOT NULL,
        asset TEXT NOT NULL,
        pay_to TEXT NOT NULL,
        amount_micro_usd INTEGER NOT NULL CHECK (amount_micro_usd > 0),
        created_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        nonce TEXT UNIQUE,
        valid_before_ms INTEGER,
        payload TEXT,
        sends INTEGER NOT NULL DEFAULT 0,
        rejected INTEGER NOT NULL DEFAULT 0 CHECK (rejected IN (0, 1)),
        reason TEXT,
        confirmed_at_ms INTEGER,
        credited_micro_usd INTEGER,
        balance_micro_usd INTEGER,
        transaction_hash TEXT,
        last_valid_height INTEGER,
        memo TEXT,
        CHECK (state IN ('planned', 'dead') OR nonce IS NOT NULL),
        CHECK (state NOT IN ('signed', 'sent', 'unknown') OR payload IS NOT NULL),
        CHECK (counts = 1 OR state = 'dead')
      ) STRICT;
      INSERT INTO new_payments SELECT * FROM payments ORDER BY rowid;
      CREATE TABLE new_steps (
        payment_id TEXT NOT NULL REFERENCES new_payments (id),
        at_ms INTEGER NOT NULL,
        state TEXT NOT NULL,
        note TEXT
      ) STRICT;
      INSERT INTO new_steps SELECT * FROM payment_steps ORDER BY rowid;
      DROP TABLE payment_steps;
      DROP TABLE payments;
      ALTER TABLE new_payments RENAME TO payments;
      ALTER TABLE new_steps RENAME TO payment_steps;
      CREATE INDEX payments_open ON payments (state) WHERE state IN ('planned', 'signed', 'sent', 'unknown');
      CREATE INDEX payments_by_time ON payments (created_at_ms);
      CREATE INDEX payment_steps_of ON payment_steps (payment_id);

      CREATE TABLE refills (
        origin TEXT NOT NULL,
        address TEXT NOT NULL,
        payment_id TEXT,
        before_micro_usd INTEGER NOT NULL DEFAULT 0,
        halted INTEGER NOT NULL DEFAULT 0 CHECK (halted IN (0, 1)),
        not_before_ms INTEGER NOT NULL,
        note TEXT,
        PRIMARY KEY (origin, address)
      ) STRICT;
    `,
  },
  {
    name: '0009-what-a-question-is-about',
    sql: 'ALTER TABLE approvals ADD COLUMN about TEXT;',
  },
  {
    name: '0010-attested-media',
    sql: `
      CREATE TABLE attested_media (
        origin TEXT NOT NULL,
        medium TEXT NOT NULL,
        is_address INTEGER NOT NULL CHECK (is_address IN (0, 1)),
        facts TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (origin, medium)
      ) STRICT;
      CREATE INDEX attested_media_by_time ON attested_media (at_ms);
    `,
  },
  {
    // A transfer to the owner counts against no cap, so it is not a payment of the journal. It has the same states.
    name: '0011-transfers',
    sql: `
      CREATE TABLE transfers (
        id TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('planned', 'signed', 'sent', 'unknown', 'confirmed', 'dead')),
        address TEXT NOT NULL,
        network TEXT NOT NULL,
        asset TEXT NOT NULL,
        pay_to TEXT NOT NULL,
        amount_micro_usd INTEGER NOT NULL CHECK (amount_micro_usd > 0),
        settler TEXT NOT NULL,
        by_whom TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        nonce TEXT UNIQUE,
        valid_before_ms INTEGER,
        last_valid_height INTEGER,
        memo TEXT,
        payload TEXT,
        reason TEXT,
        confirmed_at_ms INTEGER,
        transaction_hash TEXT,
        CHECK (state IN ('planned', 'dead') OR nonce IS NOT NULL),
        CHECK (state NOT IN ('signed', 'sent', 'unknown') OR payload IS NOT NULL)
      ) STRICT;
      CREATE INDEX transfers_open ON transfers (address) WHERE state IN ('planned', 'signed', 'sent', 'unknown');
      CREATE INDEX transfers_by_time ON transfers (created_at_ms);

      CREATE TABLE transfer_steps (
        transfer_id TEXT NOT NULL REFERENCES transfers (id),
        at_ms INTEGER NOT NULL,
        state TEXT NOT NULL,
        note TEXT
      ) STRICT;
    `,
  },
]
