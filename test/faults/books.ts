import { type AuditReport, audit } from '#ledger/audit/audit.ts'
import { type AuditReader, postgresAuditReader, sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { recoveryMs, sharedLapsedMs } from './bounds.ts'
import { type LedgerRows, readLedger } from './checks/ledger-rows.ts'

/** The books of one store, read behind the service's back. */
export interface Books {
  /** One snapshot, beside a server that writes. */
  read(): Promise<LedgerRows>
  /** The service's own audit, which shares nothing with its ledger. */
  audit(expiredHoldMs: number): Promise<AuditReport>
  /** Whether other processes may write: then a start ends no holds of a dead process, their leases have to lapse. */
  areShared: boolean
  /** How long a hold may stay beyond its lease while processes are killed again and again. */
  lapsedMs: number
}

export const sqliteBooks = (database: string): Books =>
  booksOf(async () => sqliteAuditReader(database), { areShared: false, lapsedMs: recoveryMs })

export const postgresBooks = (url: string): Books =>
  booksOf(() => postgresAuditReader(url), { areShared: true, lapsedMs: sharedLapsedMs })

const booksOf = (open: () => Promise<AuditReader>, traits: Pick<Books, 'areShared' | 'lapsedMs'>): Books => ({
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
