import { displayUsd } from '#contract/money.ts'
import type { AuditReport } from '#service/ledger/audit-report.ts'

/** What each count of an audit counts, in words. */
const counted: Readonly<Record<keyof AuditReport['counts'], string>> = {
  accounts: 'accounts',
  entries: 'rows in the books',
  topUps: '  of top-ups',
  grants: '  of credit that was given',
  charges: '  of charges, one for each priced line',
  refunds: '  of refunds',
  staking: '  of staking credit, used or given back',
  writeOffs: '  of losses that were written off',
  openHolds: 'holds that are open now',
  payments: 'payments by wallets',
  jobs: 'jobs',
  claims: 'idempotency keys',
}

/** The lines of a report for a person. */
export function sayAudit(report: AuditReport): string[] {
  const counts = Object.entries(report.counts) as [keyof AuditReport['counts'], number][]
  return [
    ...counts.map(([name, count]) => `${counted[name]}: ${count}`),
    ...report.findings.map(finding => `${finding.subject}: ${finding.sentence}`),
    ...(report.findingsLeftOff > 0 ? [`${report.findingsLeftOff} more findings are not shown.`] : []),
    `drift: ${displayUsd(report.driftMicroUsd)}`,
    report.ok ? 'The books add up.' : 'The books do not add up.',
  ]
}
