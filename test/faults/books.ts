import { audit } from '#service/ledger/audit.ts'
import type { AuditReport } from '#service/ledger/audit-report.ts'
import { type LedgerRows, readLedger } from './checks/ledger-rows.ts'

/** The books of one store, read behind the service's back. */
export interface Books {
  /** One snapshot, beside a server that writes. */
  read(): Promise<LedgerRows>
  /** The service's own audit, which shares nothing with its ledger. */
  audit(expiredHoldMs: number): Promise<AuditReport>
}

export const sqliteBooks = (database: string): Books => ({
  read: async () => readLedger(database),
  audit: expiredHoldMs => audit(database, { expiredHoldMs }),
})
