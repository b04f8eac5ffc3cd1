import type { DatabaseSync } from 'node:sqlite'
import type { PruneSlice } from '../store.ts'

export function slicePruner(database: DatabaseSync): (slice: PruneSlice, rows: number) => number {
  const units = database.prepare('DELETE FROM unit WHERE id IN (SELECT id FROM unit WHERE id < ? ORDER BY id LIMIT ?)')
  const nonces = database.prepare(
    'DELETE FROM nonce WHERE id IN (SELECT id FROM nonce WHERE expires_at_ms < ? ORDER BY expires_at_ms LIMIT ?)',
  )
  // Answers go with their claims. One that is worked under stays, however long the work takes.
  const claims = database.prepare(
    `DELETE FROM claim WHERE id IN (
      SELECT id FROM claim WHERE created_at_ms < ?1
        AND (state = 'done' OR lease_until_ms IS NULL OR lease_until_ms < ?1)
      ORDER BY created_at_ms LIMIT ?2)`,
  )
  // Two searches by index, because one condition joined by OR would read the whole log.
  const limitLog = database.prepare(
    `DELETE FROM limit_log WHERE seq IN (
      SELECT seq FROM (SELECT seq FROM limit_log WHERE created_at_ms < ?1 ORDER BY created_at_ms LIMIT ?3)
      UNION
      SELECT seq FROM (SELECT seq FROM limit_log
        WHERE seq <= (SELECT max(seq) FROM limit_log) - ?2 ORDER BY seq LIMIT ?3)
      LIMIT ?3)`,
  )
  return (slice, rows) => {
    switch (slice.table) {
      case 'unit':
        return Number(units.run(slice.beforeId, rows).changes)
      case 'nonce':
        return Number(nonces.run(slice.expiredBeforeMs, rows).changes)
      case 'claim':
        return Number(claims.run(slice.createdBeforeMs, rows).changes)
      case 'limit_log':
        return Number(limitLog.run(slice.createdBeforeMs, slice.keepNewest, rows).changes)
    }
  }
}
