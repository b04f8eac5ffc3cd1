import { normalizeWallet } from '#contract/wire/networks.ts'
import { all, change, type Work } from '../records/records.ts'
import type { Payee } from '../terms/order.ts'

/** Adds a payee that the user has approved permanently; `farebox wallet status` lists it. */
export function* addPayee({ origin, network, asset, payTo }: Payee, by: string, nowMs: number): Work<void> {
  yield* change(
    `INSERT INTO payees (origin, network, asset, pay_to, approved_at_ms, approved_by) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
    ...[origin, network, normalizeWallet(asset), normalizeWallet(payTo), nowMs, by],
  )
}

/** Returns payees that the user has approved, and those that were already paid because the owner had named them. */
export function* payeesOf(origin: string): Work<Payee[]> {
  const rows = yield* all(
    `SELECT network, asset, pay_to, MIN(at_ms) AS since_ms FROM (
       SELECT network, asset, pay_to, approved_at_ms AS at_ms FROM payees WHERE origin = ?
       UNION ALL
       SELECT network, asset, pay_to, confirmed_at_ms FROM payments WHERE origin = ? AND state = 'confirmed'
     ) AS known GROUP BY network, asset, pay_to ORDER BY since_ms`,
    ...[origin, origin],
  )
  const found = rows.map(row => ({
    origin,
    network: String(row.network),
    asset: String(row.asset),
    payTo: String(row.pay_to),
  }))
  return withoutRepeated(found)
}

/** Returns the origins of other services whose payees the user has approved. */
export function* otherServicesOf(origin: string): Work<string[]> {
  const rows = yield* all(
    'SELECT origin, MIN(approved_at_ms) AS since_ms FROM payees WHERE origin <> ? GROUP BY origin ORDER BY since_ms',
    origin,
  )
  return rows.map(row => String(row.origin))
}

/** One address may appear in two spellings. */
export const withoutRepeated = (payees: readonly Payee[]): Payee[] =>
  [...new Map(payees.toReversed().map(payee => [nameOf(payee), payee])).values()].reverse()

const nameOf = ({ origin, network, asset, payTo }: Payee): string =>
  JSON.stringify([origin, network, normalizeWallet(asset), normalizeWallet(payTo)])
