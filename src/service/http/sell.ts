import type { MicroUsd } from '#contract/money.ts'
import { isPaid, type Operation } from '#contract/operations/operation.ts'
import { balanceRemaining, receipt, wantReceipt } from '#contract/wire/headers.ts'
import { type PaidWork, withCharge } from '#ledger/charges/charges.ts'
import { shortage, totalOf } from '#ledger/charges/funding.ts'
import { receiptHeaderCharacters } from '#ledger/charges/receipts.ts'
import type { Exchange } from './exchange.ts'
import { type Call, principalOf } from './route.ts'
import type { Service } from './service.ts'

/** What is sold whole, and the most that it may cost. */
interface Sale {
  /** Null for what no model is asked for. */
  model: string | null
  amount: MicroUsd
}

/** A call whose most is known before its engine is asked: it is held, done and charged. Throws what is missing to pay for it. */
export async function sell<Value>(
  call: Call,
  { model, amount }: Sale,
  service: Service,
  run: () => Promise<PaidWork<Value>>,
): Promise<Value> {
  await requireFunds(call, amount)
  const { requestId: request, holdId } = call
  const order = { request, holdId, principal: principalOf(call), model, amount }
  const { value, charged } = await withCharge(service.charges, order, () => {
    call.goOn()
    return run()
  })
  tellRemaining(call, charged.availableMicroUsd)
  return value
}

/** Before work that costs us something: throws what is missing to pay for it. */
export async function requireFunds(call: Call, amount: MicroUsd): Promise<void> {
  const spendable = await call.spendable()
  if (amount > totalOf(spendable)) throw shortage(spendable, amount)
}

/** A wallet is told what it has left, where it is known; a key is not (brief §9). */
export function tellRemaining(call: Call, availableMicroUsd: MicroUsd | null): void {
  if (call.principal?.kind === 'wallet' && availableMicroUsd !== null) call.set(balanceRemaining, availableMicroUsd)
}

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
