import { answerTasks } from '#host/workers/thread-entry.ts'
import { audit } from '#ledger/audit/audit.ts'
import { postgresAuditReader, sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import type { AuditAnswer, AuditTask } from './audits.ts'

/** Audits run on their own thread, because reading a million rows from SQLite would block requests. */
answerTasks(async ({ engine, at }: AuditTask): Promise<AuditAnswer> => {
  try {
    const reader = engine === 'postgres' ? await postgresAuditReader(at) : sqliteAuditReader(at)
    try {
      return { report: await audit(reader) }
    } finally {
      await reader.close()
    }
  } catch (error) {
    // The driver's message may contain the database's address and password.
    return { failed: (error as NodeJS.ErrnoException).code ?? 'unknown' }
  }
})
