import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { isCredibleUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import { walletMigrations } from '#wallet/records/schema.ts'
import { type Migration, openState, type State } from '#wallet/records/state.ts'

/** The agent's tables in the state file, beside those of the wallet. */
export const agentMigrations: readonly Migration[] = [
  {
    name: '0001-first-release',
    sql: `
      -- Each paid call has a row before it has any effect, and keeps its answer until it is delivered.
      CREATE TABLE paid_calls (
        id TEXT PRIMARY KEY,
        -- Equal for equal calls, so that none is paid for twice.
        request_hash TEXT NOT NULL,
        operation TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('planned', 'sent', 'lost', 'answered', 'delivered', 'failed')),
        -- The process that makes the call.
        owner TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        -- The terms on which it was last sent.
        consents TEXT,
        with_key INTEGER NOT NULL DEFAULT 0 CHECK (with_key IN (0, 1)),
        allowed_micro_usd INTEGER,
        account TEXT,
        -- What the answer brought.
        answer TEXT,
        charged_micro_usd INTEGER,
        credit_left_micro_usd INTEGER,
        job_id TEXT
      ) STRICT;
      CREATE INDEX paid_calls_by_request ON paid_calls (request_hash, created_at_ms);

      -- Jobs that a service has queued, and paid calls that became a job, so that a restart loses none.
      CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('video', 'audio', 'call')),
        service TEXT NOT NULL,
        model TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'deleted')),
        started_by TEXT,
        started_at_ms INTEGER NOT NULL,
        typical_ms INTEGER,
        changed_at_ms INTEGER,
        cancelled_at_ms INTEGER,
        price_micro_usd INTEGER,
        failure TEXT,
        refunded INTEGER NOT NULL DEFAULT 0 CHECK (refunded IN (0, 1)),
        -- By what the service knows a queued job. The id is empty for a call.
        queue_id TEXT NOT NULL,
        download_url TEXT,
        file_path TEXT,
        file_mime_type TEXT,
        file_bytes INTEGER,
        downloaded INTEGER NOT NULL DEFAULT 0 CHECK (downloaded IN (0, 1)),
        delivered INTEGER NOT NULL DEFAULT 0 CHECK (delivered IN (0, 1)),
        -- The process that saves the file: two would write the same part of it.
        saver TEXT,
        saving_until_ms INTEGER,
        -- Only for a call. What was sent is deleted once it is no longer needed.
        call_id TEXT,
        request TEXT,
        tool TEXT,
        asks TEXT,
        times_asked INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX jobs_by_time ON jobs (started_at_ms);
      CREATE UNIQUE INDEX jobs_by_call ON jobs (call_id) WHERE call_id IS NOT NULL;

      -- Saved files. The file of a job has the id of the job, because clients may have links with it.
      CREATE TABLE saved_files (
        id TEXT PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        mime_type TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        model TEXT,
        tool TEXT,
        saved_at_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX saved_files_by_time ON saved_files (saved_at_ms);

      -- What the processes of this machine know together about a service's limits.
      CREATE TABLE notes (
        key TEXT PRIMARY KEY,
        note TEXT NOT NULL,
        changed_at_ms INTEGER NOT NULL
      ) STRICT;

      -- Charges that services have reported, signed or not.
      CREATE TABLE charge_receipts (
        service TEXT NOT NULL,
        id TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('unsigned', 'unchecked', 'verified', 'differs', 'unverified')),
        problem TEXT,
        receipt TEXT,
        what TEXT,
        request TEXT,
        operation TEXT,
        model TEXT,
        said_micro_usd INTEGER,
        most_micro_usd INTEGER,
        at_ms INTEGER NOT NULL,
        call_id TEXT,
        tool TEXT,
        -- Whether the answer could not have a receipt.
        comes_later INTEGER NOT NULL CHECK (comes_later IN (0, 1)),
        PRIMARY KEY (service, id),
        CHECK ((state = 'unsigned') = (receipt IS NULL))
      ) STRICT;
      CREATE INDEX charge_receipts_by_time ON charge_receipts (at_ms);
      CREATE INDEX charge_receipts_by_call ON charge_receipts (call_id) WHERE call_id IS NOT NULL;
      CREATE INDEX charge_receipts_of_service ON charge_receipts (service, at_ms);

      -- The keys of a service's receipts stay as they were first seen.
      CREATE TABLE receipt_keys (
        service TEXT NOT NULL,
        id TEXT NOT NULL,
        public_key TEXT NOT NULL,
        first_seen_at_ms INTEGER NOT NULL,
        PRIMARY KEY (service, id)
      ) STRICT;
    `,
  },
]

/** The agent's tables in a state file, made on first use. */
export class AgentTables {
  readonly #state: State

  constructor(state: State) {
    this.#state = state
  }

  get database(): DatabaseSync {
    return this.#prepared().database()
  }

  /** Like `decide` of the state file. */
  decide<Result>(run: (database: DatabaseSync) => Result): Result {
    return this.#prepared().decide(run)
  }

  #prepared(): State {
    this.#state.prepare('agent', agentMigrations)
    return this.#state
  }
}

/** Opens the state file of a data folder, unless another release has used the wallet or the agent there. */
export const openAgentState = (folder: string): State =>
  openState(folder, { wallet: walletMigrations, agent: agentMigrations })

/** Reads integers as bigints: a plain read throws at one beyond 2⁵³, and would make its whole table unreadable. */
export function exactly(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** Reads an amount from a column; null if there is none, or if it is implausibly large. */
export function keptAmount(value: SQLOutputValue | undefined): MicroUsd | null {
  const amount = typeof value === 'bigint' ? microUsd(value) : null
  return amount !== null && isCredibleUsd(amount) ? amount : null
}
