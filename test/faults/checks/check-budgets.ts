import type { Book, BudgetKey } from '../book.ts'
import { midnightMs } from '../bounds.ts'
import type { Findings } from './findings.ts'
import { type ChargeRow, dayMs, type LedgerRows } from './ledger-rows.ts'

/** What a key was charged in USD, from the entries alone, is within its budget in each period; and each charge names its key. */
export function checkBudgets(book: Book, rows: LedgerRows, findings: Findings): void {
  for (const [request, keyId] of book.budgeted) {
    const charge = rows.charges.get(request)
    if (charge && charge.apiKey !== keyId)
      findings.fail(`Request ${request} of key ${keyId} names key ${charge.apiKey}.`)
  }
  const byKey = Map.groupBy(rows.charges.values(), ({ apiKey }) => apiKey)
  for (const key of book.budgetKeys) checkBudget(key, byKey.get(key.keyId) ?? [], findings)
}

function checkBudget({ keyId, period, limitMicroUsd }: BudgetKey, charges: ChargeRow[], findings: Findings): void {
  // A hold of the day before may be charged after midnight, and counts there.
  const sure = period === 'lifetime' ? charges : charges.filter(({ atMs }) => atMs % dayMs > midnightMs)
  const periods = Map.groupBy(sure, ({ atMs }) => (period === 'lifetime' ? 0 : atMs - (atMs % dayMs)))
  for (const inPeriod of periods.values()) {
    const spent = inPeriod.reduce((sum, charge) => sum + charge.usd, 0n)
    if (spent <= limitMicroUsd) continue
    findings.fail(`Key ${keyId} may spend ${limitMicroUsd} micro-USD (${period}), and has spent ${spent}.`)
  }
}
