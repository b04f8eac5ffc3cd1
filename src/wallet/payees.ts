import type { DatabaseSync } from 'node:sqlite'
import type { Payee } from './policy.ts'

/** A payee that a person has agreed to, for good; shown by `farebox wallet status`. */
export function addPayee(db: DatabaseSync, payee: Payee, by: string, nowMs: number): void {
  db.prepare(
    `INSERT INTO payees (origin, network, asset, pay_to, approved_at_ms, approved_by) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  ).run(payee.origin, payee.network, payee.asset.toLowerCase(), payee.payTo.toLowerCase(), nowMs, by)
}

export const payeesOf = (db: DatabaseSync, origin: string): Payee[] =>
  db
    .prepare('SELECT * FROM payees WHERE origin = ? ORDER BY approved_at_ms')
    .all(origin)
    .map(row => ({ origin, network: String(row.network), asset: String(row.asset), payTo: String(row.pay_to) }))
