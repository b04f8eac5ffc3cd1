import type { MicroUsd } from '#contract/money.ts'
import { isPaid, type Operation } from '#contract/operations/operation.ts'
import { balanceRemaining, receipt, wantReceipt } from '#contract/wire/headers.ts'
import { type PaidWork, withCharge } from '#ledger/charges/charges.ts'
import { shortage, totalOf } from '#ledger/charges/funding.ts'
import { receiptHeaderCharacters } from '#ledger/charges/receipts.ts'
import type { Exchange } from './exchange.ts'
import { type Call, principalOf } from './route.ts'
import type { Service } from './service.ts'

/** Something that is sold as a whole, and the most that it may cost. */
interface Sale {
  /** Null if it needs no model. */
  model: string | null
  amount: MicroUsd
}

/**
 * Runs a call whose maximum cost is known in advance: holds the amount, does the work and charges. Throws what is
 * missing to pay for it.
 */
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

/** Called before work that costs us something: throws what is missing to pay for it. */
export async function requireFunds(call: Call, amount: MicroUsd): Promise<void> {
  const spendable = await call.spendable()
  if (amount > totalOf(spendable)) throw shortage(spendable, amount)
}

/** Reports what a wallet has left, if known; a key gets no such header (brief §9). */
export function tellRemaining(call: Call, availableMicroUsd: MicroUsd | null): void {
  if (call.principal?.kind === 'wallet' && availableMicroUsd !== null) call.set(balanceRemaining, availableMicroUsd)
}

/**
 * Adds the receipt of a charge to its answer, if the caller wants it. A failure does not withhold the answer, which is
 * paid for; the receipt can be fetched later.
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
