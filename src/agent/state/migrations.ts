import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { isCredibleUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import type { Migration } from '#wallet/records/state.ts'

/**
 * The client's part of the state file: paid calls until they are delivered, jobs, and what all processes know about
 * limits.
 */
export const agentMigrations: readonly Migration[] = [
  {
    name: '0001-calls-jobs-failures',
    sql: `
      CREATE TABLE paid_calls (
        id TEXT PRIMARY KEY,
        request_hash TEXT NOT NULL,
        operation TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('planned', 'sent', 'lost', 'answered', 'delivered', 'failed')),
        owner TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        charged_micro_usd INTEGER,
        answer TEXT,
        job_id TEXT
      ) STRICT;
      CREATE INDEX paid_calls_by_request ON paid_calls (request_hash, created_at_ms);

      CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        service TEXT NOT NULL,
        queue_id TEXT NOT NULL,
        model TEXT NOT NULL,
        download_url TEXT,
        price_micro_usd INTEGER,
        state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'deleted')),
        started_at_ms INTEGER NOT NULL,
        typical_ms INTEGER,
        file_path TEXT,
        file_mime_type TEXT,
        file_bytes INTEGER,
        failure TEXT,
        refunded INTEGER NOT NULL DEFAULT 0 CHECK (refunded IN (0, 1)),
        delivered INTEGER NOT NULL DEFAULT 0 CHECK (delivered IN (0, 1)),
        saver TEXT,
        saving_until_ms INTEGER
      ) STRICT;
      CREATE INDEX jobs_by_time ON jobs (started_at_ms);

      CREATE TABLE failures (caller TEXT NOT NULL, at_ms INTEGER NOT NULL, was_answered INTEGER NOT NULL) STRICT;
      CREATE INDEX failures_by_caller ON failures (caller, at_ms);
      CREATE TABLE blocks (caller TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) STRICT;
    `,
  },
  {
    name: '0002-notes',
    sql: `
      DROP TABLE failures;
      DROP TABLE blocks;
      CREATE TABLE notes (key TEXT PRIMARY KEY, note TEXT NOT NULL, changed_at_ms INTEGER NOT NULL) STRICT;
    `,
  },
  {
    name: '0003-consents',
    sql: 'ALTER TABLE paid_calls ADD COLUMN consents TEXT;',
  },
  {
    name: '0004-how-a-call-was-sent',
    sql: `
      ALTER TABLE paid_calls ADD COLUMN with_key INTEGER NOT NULL DEFAULT 0 CHECK (with_key IN (0, 1));
      ALTER TABLE paid_calls ADD COLUMN allowed_micro_usd INTEGER;
      ALTER TABLE paid_calls ADD COLUMN account TEXT;
    `,
  },
  {
    name: '0005-jobs-of-calls',
    sql: `
      ALTER TABLE paid_calls ADD COLUMN credit_left_micro_usd INTEGER;
      ALTER TABLE jobs ADD COLUMN call_id TEXT;
      ALTER TABLE jobs ADD COLUMN request TEXT;
      ALTER TABLE jobs ADD COLUMN tool TEXT;
      CREATE UNIQUE INDEX jobs_by_call ON jobs (call_id) WHERE call_id IS NOT NULL;
    `,
  },
  {
    name: '0006-kinds-of-jobs',
    sql: `
      ALTER TABLE jobs ADD COLUMN kind TEXT NOT NULL DEFAULT 'video' CHECK (kind IN ('video', 'audio', 'call'));
      UPDATE jobs SET kind = 'call' WHERE call_id IS NOT NULL;
    `,
  },
  {
    name: '0007-where-a-file-came-from',
    sql: 'ALTER TABLE jobs ADD COLUMN downloaded INTEGER NOT NULL DEFAULT 0 CHECK (downloaded IN (0, 1));',
  },
  {
    // Files of jobs keep their ids, because clients may have links with them.
    name: '0008-saved-files',
    sql: `
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
      INSERT OR IGNORE INTO saved_files (id, path, mime_type, bytes, model, saved_at_ms)
        SELECT id, file_path, file_mime_type, file_bytes, model, started_at_ms FROM jobs
          WHERE file_path IS NOT NULL AND file_mime_type IS NOT NULL AND file_bytes IS NOT NULL
          ORDER BY started_at_ms DESC, rowid DESC LIMIT 1000;
      ALTER TABLE jobs ADD COLUMN started_by TEXT;
    `,
  },
  {
    name: '0009-jobs-that-are-looked-at',
    sql: `
      ALTER TABLE jobs ADD COLUMN changed_at_ms INTEGER;
      ALTER TABLE jobs ADD COLUMN cancelled_at_ms INTEGER;
      ALTER TABLE jobs ADD COLUMN asks TEXT;
      ALTER TABLE jobs ADD COLUMN times_asked INTEGER NOT NULL DEFAULT 0;
    `,
  },
]

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
