import type { CommandIo } from '../command.ts'
import { type LedgerPlace, openReader, withSameSchema } from '../data/ledger-place.ts'
import { openOperator } from './operator.ts'
import { sayAudit } from './say-ledger.ts'

/** Lets the books take debits again, after an audit that finds nothing. Answers the command's end. */
export async function reopenLedger(books: LedgerPlace, io: CommandIo): Promise<number> {
  const reader = await openReader(books)
  try {
    const { audit } = await import('#ledger/audit/audit.ts')
    const report = await withSameSchema(audit(reader))
    if (!report.ok) {
      for (const line of sayAudit(report)) io.output.print(line)
      io.output.print('The ledger was not changed. It opens once an audit finds nothing.')
      return 1
    }
  } finally {
    await reader.close()
  }
  const operator = await openOperator(books)
  try {
    await operator.reopenLedger()
    io.output.print('The ledger adds up and is open.')
    return 0
  } finally {
    await operator.close()
  }
}
