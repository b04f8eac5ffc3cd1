import type { Migration } from './state.ts'

/** What the two databases of the records name differently. */
interface Dialect {
  /** An integer of 64 bits: an amount, a time or a block height. */
  int64: 'INTEGER' | 'BIGINT'
  /** The column with the order of insertion. SQLite gives one to every row. */
  rowid: string
  /** Makes SQLite check the types of values, as PostgreSQL does. */
  strict: ' STRICT' | ''
  /** A new random id. */
  newId: string
}

/** Whose journal it is, and who may use it now. */
const journalTables = ({ int64, strict, newId }: Dialect): string => `
  -- One row: the id of the journal, by which it is known again after its folder was moved.
  CREATE TABLE journal (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL
  )${strict};
  INSERT INTO journal (one, id) VALUES (1, ${newId});

  -- At most one row: the encrypted wallet that used the journal first. Its passphrase is needed for the user's
  -- decisions, even from another folder.
  CREATE TABLE journal_owner (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    address TEXT NOT NULL,
    since_ms ${int64} NOT NULL
  )${strict};

  -- At most one row: while it is there, nothing is signed and nothing is sent.
  CREATE TABLE stops (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at_ms ${int64} NOT NULL,
    by_whom TEXT NOT NULL
  )${strict};

  -- At most one row: the process that may top up, until its lease expires.
  CREATE TABLE top_up_lease (
    "only" INTEGER PRIMARY KEY CHECK ("only" = 1),
    token TEXT NOT NULL,
    owner TEXT NOT NULL,
    expires_at_ms ${int64} NOT NULL
  )${strict};
`

const paymentTables = ({ int64, rowid, strict }: Dialect): string => `
  -- The journal of payments to services, and also the budget: what counts against the caps is a sum over these rows.
  CREATE TABLE payments (${rowid}
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
    amount_micro_usd ${int64} NOT NULL CHECK (amount_micro_usd > 0),
    created_at_ms ${int64} NOT NULL,
    updated_at_ms ${int64} NOT NULL,
    -- Set when it is signed; the height and the memo only on Solana.
    nonce TEXT UNIQUE,
    valid_before_ms ${int64},
    last_valid_height ${int64},
    memo TEXT,
    -- The signed bytes. Anyone who has them can collect the payment, so they are deleted when it ends.
    payload TEXT,
    sends INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0 CHECK (rejected IN (0, 1)),
    reason TEXT,
    -- Set when the service has credited it.
    confirmed_at_ms ${int64},
    credited_micro_usd ${int64},
    balance_micro_usd ${int64},
    transaction_hash TEXT,
    CHECK (state IN ('planned', 'dead') OR nonce IS NOT NULL),
    CHECK (state NOT IN ('signed', 'sent', 'unknown') OR payload IS NOT NULL),
    CHECK (counts = 1 OR state = 'dead')
  )${strict};
  CREATE INDEX payments_open ON payments (state) WHERE state IN ('planned', 'signed', 'sent', 'unknown');
  CREATE INDEX payments_by_time ON payments (created_at_ms);

  -- Rows are only added, so a restored copy of the journal has fewer.
  CREATE TABLE payment_steps (
    payment_id TEXT NOT NULL REFERENCES payments (id),
    at_ms ${int64} NOT NULL,
    state TEXT NOT NULL,
    note TEXT
  )${strict};
  CREATE INDEX payment_steps_of ON payment_steps (payment_id);

  -- Refilling of an account at a service: one row, so one refill at a time.
  CREATE TABLE refills (
    origin TEXT NOT NULL,
    address TEXT NOT NULL,
    -- The last refill, until its credit has shown up.
    payment_id TEXT,
    before_micro_usd ${int64} NOT NULL DEFAULT 0,
    halted INTEGER NOT NULL DEFAULT 0 CHECK (halted IN (0, 1)),
    not_before_ms ${int64} NOT NULL,
    note TEXT,
    PRIMARY KEY (origin, address)
  )${strict};
`

const transferTables = ({ int64, rowid, strict }: Dialect): string => `
  -- Money that the owner has sent out of the wallet. It has the states of a payment and counts against no cap.
  CREATE TABLE transfers (${rowid}
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('planned', 'signed', 'sent', 'unknown', 'confirmed', 'dead')),
    address TEXT NOT NULL,
    network TEXT NOT NULL,
    asset TEXT NOT NULL,
    pay_to TEXT NOT NULL,
    amount_micro_usd ${int64} NOT NULL CHECK (amount_micro_usd > 0),
    settler TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    created_at_ms ${int64} NOT NULL,
    nonce TEXT UNIQUE,
    valid_before_ms ${int64},
    last_valid_height ${int64},
    memo TEXT,
    payload TEXT,
    reason TEXT,
    confirmed_at_ms ${int64},
    transaction_hash TEXT,
    CHECK (state IN ('planned', 'dead') OR nonce IS NOT NULL),
    CHECK (state NOT IN ('signed', 'sent', 'unknown') OR payload IS NOT NULL)
  )${strict};
  CREATE INDEX transfers_open ON transfers (address) WHERE state IN ('planned', 'signed', 'sent', 'unknown');
  CREATE INDEX transfers_by_time ON transfers (created_at_ms);

  CREATE TABLE transfer_steps (
    transfer_id TEXT NOT NULL REFERENCES transfers (id),
    at_ms ${int64} NOT NULL,
    state TEXT NOT NULL,
    note TEXT
  )${strict};
`

/** What the user has decided, or is asked to decide. */
const approvalTables = ({ int64, rowid, strict }: Dialect): string => `
  -- Addresses that the user has approved, each for one service and one token.
  CREATE TABLE payees (
    origin TEXT NOT NULL,
    network TEXT NOT NULL,
    asset TEXT NOT NULL,
    pay_to TEXT NOT NULL,
    approved_at_ms ${int64} NOT NULL,
    approved_by TEXT NOT NULL,
    PRIMARY KEY (origin, network, asset, pay_to)
  )${strict};

  -- Requests for approval, and the user's decisions.
  CREATE TABLE approvals (${rowid}
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('consent', 'spend', 'payee')),
    -- An approval applies to exactly this request, with exactly these facts.
    request_hash TEXT NOT NULL,
    facts TEXT NOT NULL,
    -- The call that needs it. What it is about is deleted a day after the request has ended.
    origin TEXT NOT NULL,
    operation TEXT,
    address TEXT,
    about TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
    created_at_ms ${int64} NOT NULL,
    expires_at_ms ${int64} NOT NULL,
    decided_at_ms ${int64},
    decided_by TEXT,
    -- The payment or call that used it up.
    used_by TEXT,
    -- Whether its end is in the record of refusals.
    noted INTEGER NOT NULL DEFAULT 0 CHECK (noted IN (0, 1))
  )${strict};
  CREATE INDEX approvals_by_request ON approvals (kind, request_hash);

  -- Media that a service has received with the user's consent: it may recognize them and not ask again.
  CREATE TABLE attested_media (
    origin TEXT NOT NULL,
    medium TEXT NOT NULL,
    is_address INTEGER NOT NULL CHECK (is_address IN (0, 1)),
    facts TEXT NOT NULL,
    at_ms ${int64} NOT NULL,
    PRIMARY KEY (origin, medium)
  )${strict};
  CREATE INDEX attested_media_by_time ON attested_media (at_ms);
`

const refusalTables = ({ int64, rowid, strict }: Dialect): string => `
  -- Refusals to pay. Equal ones within an hour share a row.
  CREATE TABLE refusals (${rowid}
    id TEXT PRIMARY KEY,
    same TEXT NOT NULL,
    rule TEXT NOT NULL,
    sentence TEXT NOT NULL,
    first_at_ms ${int64} NOT NULL,
    last_at_ms ${int64} NOT NULL,
    times INTEGER NOT NULL DEFAULT 1,
    address TEXT,
    origin TEXT NOT NULL,
    operation TEXT,
    network TEXT,
    asset TEXT,
    pay_to TEXT,
    -- Texts, because a service may ask for more than 64 bits hold.
    amount_micro_usd TEXT,
    limit_micro_usd TEXT,
    left_micro_usd TEXT,
    request_hash TEXT
  )${strict};
  CREATE INDEX refusals_by_same ON refusals (same, first_at_ms);
  CREATE INDEX refusals_by_time ON refusals (last_at_ms);
`

/**
 * The tables of the wallet's records. They have the same names and columns in both databases, so that one statement
 * serves both. Times are Unix milliseconds by the clock of the records.
 */
const recordTables = (dialect: Dialect): string =>
  [journalTables, paymentTables, transferTables, approvalTables, refusalTables].map(make => make(dialect)).join('')

/** The records in the state file. */
export const walletMigrations: readonly Migration[] = [
  {
    name: '0001-first-release',
    sql: recordTables({ int64: 'INTEGER', rowid: '', strict: ' STRICT', newId: 'lower(hex(randomblob(16)))' }),
  },
]

/** The records in PostgreSQL. Decisions queue for the row of `journal`. */
export const postgresMigrations: readonly Migration[] = [
  {
    name: '0001-first-release',
    sql: `
      -- The clock of the database, because the replicas that share it have clocks of their own.
      CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE
        AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

      -- Decisions that were committed: after a COMMIT without an answer, they show whether it took effect.
      CREATE TABLE units (id TEXT PRIMARY KEY, at_ms BIGINT NOT NULL);
      CREATE INDEX units_by_time ON units (at_ms);
      ${recordTables({
        int64: 'BIGINT',
        rowid: '\n    rowid BIGINT GENERATED ALWAYS AS IDENTITY,',
        strict: '',
        newId: 'gen_random_uuid()::text',
      })}`,
  },
]
