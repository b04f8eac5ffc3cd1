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
