import { type Clock, systemClock } from '#contract/time.ts'
import {
  checkBalances,
  checkDaySums,
  checkEntries,
  checkHistory,
  checkKeyUse,
  checkRequests,
  checkStakingCredit,
  checkSum,
} from './audit-balances.ts'
import { checkCharges, checkChargesOnce, checkClaims, checkHolds, checkJobs, checkPayments } from './audit-charges.ts'
import { type AuditReader, sqliteAuditReader } from './audit-reader.ts'
import { type AuditFinding, Findings } from './findings.ts'

/** The result of an audit. Amounts are micro-USD. */
export interface AuditReport {
  /** True if there are no findings. */
  ok: boolean
  counts: AuditCounts
  /** Sums of the system accounts. No balance is stored for them, so they are only computed here. */
  systemMicroUsd: Record<string, bigint>
  /** The sum of all differences, regardless of sign, between stored balances and holds and the sums of their rows. */
  driftMicroUsd: bigint
  findings: AuditFinding[]
  /** How many findings are not listed. */
  findingsLeftOff: number
}

interface AuditCounts {
  accounts: number
  entries: number
  topUps: number
  grants: number
  charges: number
  refunds: number
  /** Rows of staking credit that was used or returned. */
  staking: number
  writeOffs: number
  openHolds: number
  payments: number
  jobs: number
  claims: number
}

export interface AuditOptions {
  clock?: Clock
  /** An open hold whose lease ended longer ago than this is a finding: recovery should have ended it. */
  expiredHoldMs?: number
}

/** Two rounds of recovery, with room for a restart. */
const defaultExpiredHoldMs = 120_000

/**
 * Recomputes the ledger from its rows alone. It shares no code with the ledger, the units of work or the pricing, so
 * that a bug in one of them cannot hide itself. Takes the path of a SQLite database, or a reader of any store.
 */
export async function audit(database: string | AuditReader, options: AuditOptions = {}): Promise<AuditReport> {
  const { clock = systemClock, expiredHoldMs = defaultExpiredHoldMs } = options
  const reader = typeof database === 'string' ? sqliteAuditReader(database) : database
  const findings = new Findings()
  try {
    const systemMicroUsd = await checkSum(reader, findings)
    await checkBalances(reader, findings)
    await checkHistory(reader, findings)
    await checkEntries(reader, findings)
    await checkChargesOnce(reader, findings)
    await checkCharges(reader, findings)
    await checkRequests(reader, findings)
    await checkStakingCredit(reader, findings)
    await checkKeyUse(reader, findings)
    await checkDaySums(reader, findings)
    await checkPayments(reader, findings)
    await checkJobs(reader, findings)
    await checkHolds(reader, findings, clock.now() - expiredHoldMs)
    await checkClaims(reader, findings)
    const counts = await count(reader)
    const { listed, leftOff, driftMicroUsd } = findings
    return {
      ok: listed.length === 0,
      counts,
      systemMicroUsd,
      driftMicroUsd,
      findings: listed,
      findingsLeftOff: leftOff,
    }
  } finally {
    if (typeof database === 'string') await reader.close()
  }
}

const countOf: Readonly<Record<string, keyof AuditCounts>> = {
  TOP_UP: 'topUps',
  GRANT: 'grants',
  CHARGE: 'charges',
  REFUND: 'refunds',
  STAKING: 'staking',
  WRITE_OFF: 'writeOffs',
  account: 'accounts',
  entry: 'entries',
  hold: 'openHolds',
  payment: 'payments',
  job: 'jobs',
  claim: 'claims',
}

async function count(reader: AuditReader): Promise<AuditCounts> {
  const counts = {
    ...{ accounts: 0, entries: 0, topUps: 0, grants: 0, charges: 0, refunds: 0, staking: 0, writeOffs: 0 },
    ...{ openHolds: 0, payments: 0, jobs: 0, claims: 0 },
  }
  const tables = ['account', 'entry', 'hold', 'payment', 'job', 'claim']
  const rows = reader.rows<{ name: string; n: bigint }>(`
    ${tables.map(table => `SELECT '${table}' AS name, count(*) AS n FROM ${table} UNION ALL`).join(' ')}
    SELECT kind, count(*) FROM entry GROUP BY kind`)
  for await (const { name, n } of rows) {
    const counted = countOf[name]
    if (counted) counts[counted] = Number(n)
  }
  return counts
}
