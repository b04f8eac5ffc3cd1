import { type AuditReport, audit } from '#ledger/audit/audit.ts'
import { type AuditReader, postgresAuditReader, sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { recoveryMs, sharedLapsedMs } from './bounds.ts'
import { type LedgerRows, readLedger } from './checks/ledger-rows.ts'

/** The ledger of one store, read behind the service's back. */
export interface TestLedger {
  /** One snapshot, beside a server that writes. */
  read(): Promise<LedgerRows>
  /** The service's own audit, which shares nothing with its ledger. */
  audit(expiredHoldMs: number): Promise<AuditReport>
  /** Whether other processes may write: then a start ends no holds of a dead process, their leases have to lapse. */
  areShared: boolean
  /** How long a hold may stay beyond its lease while processes are killed again and again. */
  lapsedMs: number
}

export const sqliteLedger = (database: string): TestLedger =>
  ledgerOf(async () => sqliteAuditReader(database), { areShared: false, lapsedMs: recoveryMs })

export const postgresLedger = (url: string): TestLedger =>
  ledgerOf(() => postgresAuditReader(url), { areShared: true, lapsedMs: sharedLapsedMs })

const ledgerOf = (
  open: () => Promise<AuditReader>,
  traits: Pick<TestLedger, 'areShared' | 'lapsedMs'>,
): TestLedger => ({
  read: () => withReader(open, readLedger),
  audit: expiredHoldMs => withReader(open, reader => audit(reader, { expiredHoldMs })),
  ...traits,
})

async function withReader<Value>(
  open: () => Promise<AuditReader>,
  run: (reader: AuditReader) => Promise<Value>,
): Promise<Value> {
  const reader = await open()
  try {
    return await run(reader)
  } finally {
    await reader.close()
  }
}
