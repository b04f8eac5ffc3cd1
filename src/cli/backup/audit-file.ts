import { isOtherSchema } from '../books.ts'

/** Audits the books in a file that nobody writes to; those of another release are left to that one. */
export async function auditFile(file: string): Promise<{ ok: boolean; sentence: string }> {
  const { audit } = await import('#service/ledger/audit.ts')
  try {
    // Nobody is there to free a hold whose process died: it is freed at the first start.
    const { ok, counts } = await audit(file, { expiredHoldMs: Number.MAX_SAFE_INTEGER })
    const rows = `${counts.entries} rows of ${counts.accounts} accounts`
    return ok
      ? { ok, sentence: `The books in it add up: ${rows}.` }
      : { ok, sentence: `The books in it do not add up (${rows}); \`farebox ledger audit\` tells more.` }
  } catch (error) {
    if (!isOtherSchema(error)) throw error
    return { ok: true, sentence: 'Its tables are those of another release, so its books were not audited.' }
  }
}
