import { displayUsd, formatUsd, microUsd } from '#contract/money.ts'
import type { ListedBalance } from '#ledger/accounts/balances.ts'
import type { AuditReport } from '#ledger/audit/audit.ts'
import type { ChainAuditReport } from '#ledger/audit/audit-chain.ts'
import type { Output } from '../output.ts'
import { counted as inWords } from '../show/counted.ts'
import { paintFor } from '../show/style.ts'

/** The names of an audit's counts. */
const counted: Readonly<Record<keyof AuditReport['counts'], string>> = {
  accounts: 'accounts',
  entries: 'rows in the ledger',
  topUps: '  of top-ups',
  grants: '  of granted credit',
  charges: '  of charges, one for each priced line',
  refunds: '  of refunds',
  staking: '  of staking credit, used or returned',
  writeOffs: '  of write-offs',
  openHolds: 'open holds',
  payments: 'payments by wallets',
  jobs: 'jobs',
  claims: 'idempotency keys',
}

/** Formats a report for the user. */
export async function auditLines(report: AuditReport, output: Output): Promise<string[]> {
  const { factLines } = await import('../show/table.ts')
  const counts = Object.entries(report.counts) as [keyof AuditReport['counts'], number][]
  const paint = paintFor(output)
  return [
    ...factLines(
      counts.map(([name, count]) => [counted[name], String(count)]),
      output,
    ),
    ...report.findings.map(finding => `${finding.subject}: ${finding.sentence}`),
    ...(report.findingsLeftOff > 0 ? [`${report.findingsLeftOff} more findings are not shown.`] : []),
    `drift: ${displayUsd(report.driftMicroUsd)}`,
    report.ok ? paint('good', 'The ledger adds up.') : paint('bad', 'The ledger does not add up.'),
  ]
}

/** Formats a comparison with the chains. */
export function chainAuditLines({
  payees,
  findings,
  findingsLeftOff,
  notes,
  notesLeftOff,
  ok,
}: ChainAuditReport): string[] {
  return [
    ...payees.map(
      ({ network, account, credits, matched, transfers }) =>
        `${network} to ${account}: ${inWords(credits, 'credit')}, ${matched} of them on the chain; ${inWords(transfers, 'transfer')}`,
    ),
    ...findings.map(({ sentence }) => sentence),
    ...(findingsLeftOff > 0 ? [`${findingsLeftOff} more findings are not shown.`] : []),
    ...notes.map(({ sentence }) => `Note: ${sentence}`),
    ...(notesLeftOff > 0 ? [`${notesLeftOff} more notes are not shown.`] : []),
    ok ? 'Every credit has its transfer.' : 'The ledger and the chain disagree.',
  ]
}

const usd = (amount: bigint): string => formatUsd(microUsd(amount))

/** Balances for the user, one per line; on a terminal a table. */
export async function balanceLines(balances: readonly ListedBalance[], output: Output): Promise<string[]> {
  if (!output.isTerminal) return balances.map(balanceLine)
  const { tableLines } = await import('../show/table.ts')
  const rows = balances.map(({ account, posted, held, available, staking }) => [
    account,
    ...[available, posted, held].map(usd),
    staking ? `${usd(staking.available)} of ${usd(staking.granted)}` : '',
  ])
  return tableLines(
    { head: ['Account', 'Available USD', 'Posted', 'Held', 'Staking today'], rows, right: [1, 2, 3] },
    output,
  )
}

function balanceLine({ account, posted, held, available, staking }: ListedBalance): string {
  const own = `${account}  ${usd(available)} USD available  ${usd(posted)} posted  ${usd(held)} held`
  if (!staking) return own
  return `${own}  ${usd(staking.available)} of ${usd(staking.granted)} of today's staking credit available`
}

/** Balances for a program: amounts as decimal USD. */
export const balanceAsJson = ({ account, kind, posted, held, available, staking }: ListedBalance) => ({
  account,
  kind,
  postedUsd: usd(posted),
  heldUsd: usd(held),
  availableUsd: usd(available),
  staking: staking && {
    grantedUsd: usd(staking.granted),
    spentUsd: usd(staking.spent),
    heldUsd: usd(staking.held),
    availableUsd: usd(staking.available),
  },
})
