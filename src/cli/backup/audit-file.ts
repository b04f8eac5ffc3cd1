import type { AuditReader } from '#ledger/audit/audit-reader.ts'
import { isOtherSchema, type LedgerPlace, openReader } from '../data/ledger-place.ts'

export interface Audited {
  ok: boolean
  sentence: string
}

/** Audits the ledger in a file that nobody writes to. */
export const auditFile = (file: string): Promise<Audited> => auditIn(file, 'in it')

/** Audits the ledger as it is now. */
export async function auditLedger(ledger: LedgerPlace): Promise<Audited> {
  const reader = await openReader(ledger)
  try {
    return await auditIn(reader, 'in the database')
  } finally {
    await reader.close()
  }
}

/** A ledger of another release is left to that one. */
async function auditIn(ledger: string | AuditReader, where: string): Promise<Audited> {
  const { audit } = await import('#ledger/audit/audit.ts')
  try {
    // Nobody may be there to free a hold whose process died: it is freed at the next start.
    const { ok, counts } = await audit(ledger, { expiredHoldMs: Number.MAX_SAFE_INTEGER })
    const rows = `${counts.entries} rows of ${counts.accounts} accounts`
    return ok
      ? { ok, sentence: `The ledger ${where} adds up: ${rows}.` }
      : { ok, sentence: `The ledger ${where} does not add up (${rows}). Run \`farebox ledger audit\` for details.` }
  } catch (error) {
    if (!isOtherSchema(error)) throw error
    return { ok: true, sentence: 'Their tables are those of another release, so they were not audited.' }
  }
}
