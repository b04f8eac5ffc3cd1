import { normalizeWallet } from '#contract/payment.ts'
import type { Payee } from './policy.ts'
import { all, change, type Work } from './work.ts'

/** A payee that a person has agreed to, for good; shown by `farebox wallet status`. */
export function* addPayee({ origin, network, asset, payTo }: Payee, by: string, nowMs: number): Work<void> {
  yield* change(
    `INSERT INTO payees (origin, network, asset, pay_to, approved_at_ms, approved_by) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
    ...[origin, network, normalizeWallet(asset), normalizeWallet(payTo), nowMs, by],
  )
}

export function* payeesOf(origin: string): Work<Payee[]> {
  const rows = yield* all('SELECT * FROM payees WHERE origin = ? ORDER BY approved_at_ms', origin)
  return rows.map(row => ({
    origin,
    network: String(row.network),
    asset: String(row.asset),
    payTo: String(row.pay_to),
  }))
}
