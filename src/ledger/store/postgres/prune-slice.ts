import type pg from 'pg'
import type { PruneSlice } from '../store.ts'

/** Rows that another process is deleting at this moment are passed over. */
export function pruneStatement(slice: PruneSlice, rows: number): pg.QueryConfig {
  switch (slice.table) {
    case 'unit':
      return { text: deleteOldest('unit', 'id < $1', 'id'), values: [slice.beforeId, rows] }
    case 'nonce':
      return {
        text: deleteOldest('nonce', 'expires_at_ms < $1', 'expires_at_ms'),
        values: [slice.expiredBeforeMs, rows],
      }
    case 'claim':
      // Answers go with their claims. One that is worked under stays, however long the work takes.
      return {
        text: deleteOldest(
          'claim',
          "created_at_ms < $1 AND (state = 'done' OR lease_until_ms IS NULL OR lease_until_ms < $1)",
          'created_at_ms',
        ),
        values: [slice.createdBeforeMs, rows],
      }
    case 'limit_log':
      return { text: limitLog, values: [slice.createdBeforeMs, slice.keepNewest, rows] }
  }
}

const deleteOldest = (table: string, where: string, order: string): string =>
  `DELETE FROM ${table} WHERE id IN (
    SELECT id FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT $2 FOR UPDATE SKIP LOCKED)`

// Two searches by index, because one condition joined by OR would read the whole log.
const limitLog = `DELETE FROM limit_log WHERE seq IN (
  SELECT seq FROM (
    (SELECT seq FROM limit_log WHERE created_at_ms < $1 ORDER BY created_at_ms LIMIT $3)
    UNION
    (SELECT seq FROM limit_log WHERE seq <= (SELECT max(seq) FROM limit_log) - $2::bigint ORDER BY seq LIMIT $3)
  ) AS old LIMIT $3)`
