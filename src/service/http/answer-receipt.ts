import { isPaid, type Operation } from '#contract/operations/operation.ts'
import { receipt, wantReceipt } from '#contract/wire/headers.ts'
import { receiptHeaderCharacters } from '#ledger/receipts/bounds.ts'
import type { Exchange } from './exchange.ts'
import type { Service } from './service.ts'

/**
 * Puts the receipt of a charge on its answer, where the caller wants it there. What keeps us from it keeps nobody from
 * the answer: it has been paid for, and the receipt can be fetched later.
 */
export async function answerWithReceipt(
  { operation, exchange, service }: { operation: Operation; exchange: Exchange; service: Pick<Service, 'receipts'> },
  request: string,
): Promise<void> {
  const { principal } = exchange
  if (!principal || !isPaid(operation) || !exchange.header(wantReceipt.name).some(wantReceipt.parse)) return
  const found = await service.receipts.of(principal.account, request).catch(() => null)
  if (found && found.charge.length <= receiptHeaderCharacters) exchange.set(receipt, found.charge)
}
