import { formatUsd } from '#contract/money.ts'
import type { Books } from '../books.ts'
import type { Findings } from './findings.ts'

/** The service's own audit, which shares nothing with the ledger. */
export async function checkBooks(books: Books, expiredHoldMs: number, findings: Findings): Promise<void> {
  const report = await books.audit(expiredHoldMs)
  if (report.driftMicroUsd !== 0n) {
    findings.drift(report.driftMicroUsd, `The audit finds a drift of ${formatUsd(report.driftMicroUsd)} USD.`)
  }
  for (const { sentence } of report.findings) findings.fail(`The audit finds: ${sentence}`)
}
