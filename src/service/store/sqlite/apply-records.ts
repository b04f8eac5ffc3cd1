import type { DatabaseSync } from 'node:sqlite'
import type { Appliers } from './work.ts'

export function recordAppliers(database: DatabaseSync): Appliers<'nonce' | 'limit'> {
  const insertNonce = database.prepare('INSERT INTO nonce (id, expires_at_ms) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const insertLimit = database.prepare(
    'INSERT INTO limit_log (account, key, model, tier, type, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
  )
  return {
    nonce(op) {
      return insertNonce.run(op.key, op.expiresAtMs).changes === 0 ? 'nonce_used' : null
    },
    limit(op) {
      insertLimit.run(op.account, op.key, op.model, op.tier, op.type, op.atMs)
      return null
    },
  }
}
