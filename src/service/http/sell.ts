import type { MicroUsd } from '#contract/money.ts'
import { balanceRemaining } from '#contract/wire/headers.ts'
import { type PaidWork, withCharge } from '#ledger/charges/charges.ts'
import { shortage, totalOf } from '#ledger/charges/funding.ts'
import { type Call, principalOf } from './call.ts'
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
