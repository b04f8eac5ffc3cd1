import { recordTables } from '../schema.ts'
import type { Migration } from '../state.ts'

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
