import type { DatabaseSync } from 'node:sqlite'
import { rateLimitLogRows } from '#contract/limits.ts'
import type { Appliers } from './work.ts'

export function recordAppliers(
  database: DatabaseSync,
): Appliers<'nonce' | 'limit' | 'ledger' | 'secret' | 'receiptKey'> {
  const insertNonce = database.prepare('INSERT INTO nonce (id, expires_at_ms) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const insertLimit = database.prepare(
    'INSERT INTO limit_log (account, key, model, tier, type, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const dropOldLimits = database.prepare(
    `DELETE FROM limit_log WHERE account = ?1 AND seq <=
      (SELECT seq FROM limit_log WHERE account = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ${rateLimitLogRows})`,
  )
  const setLedger = database.prepare(
    `INSERT INTO ledger_state (one, state, reason, since_ms) VALUES (1, ?, ?, ?)
    ON CONFLICT DO UPDATE SET state = excluded.state, reason = excluded.reason, since_ms = excluded.since_ms`,
  )
  const insertSecret = database.prepare(
    `INSERT INTO secret_mark (generation, mark, place, since_ms) SELECT ?, ?, ?, ?
    WHERE ? = (SELECT coalesce(max(generation), 0) + 1 FROM secret_mark)`,
  )
  const insertReceiptKey = database.prepare(
    'INSERT INTO receipt_key (id, public_key, since_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  return {
    nonce(op) {
      return insertNonce.run(op.key, op.expiresAtMs).changes === 0 ? 'nonce_used' : null
    },
    limit(op) {
      insertLimit.run(op.account, op.key, op.model, op.tier, op.type, op.atMs)
      dropOldLimits.run(op.account)
      return null
    },
    ledger(op) {
      setLedger.run(op.state, op.reason, op.atMs)
      return null
    },
    secret({ generation, mark, place, atMs }) {
      return insertSecret.run(generation, mark, place, atMs, generation).changes === 0 ? 'secret_moved' : null
    },
    receiptKey({ key, publicKey, atMs }) {
      insertReceiptKey.run(key, publicKey, atMs)
      return null
    },
  }
}
