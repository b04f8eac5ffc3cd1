import type { ServiceError } from '#contract/errors/service-error.ts'
import { fromUsdNumber, type MicroUsd, microUsd } from '#contract/money.ts'
import { balanceUsd } from '#contract/wire/headers.ts'
import { smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { WalletCreditRequired } from '#contract/wire/payment-required.ts'
import type { PaidOrder } from '#wallet/payment/pay.ts'
import type { Order } from '#wallet/terms/order.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { AgentContext } from '../context.ts'
import type { PricedCall } from '../prices/priced-call.ts'
import { creditOf } from '../wallet/limits-view.ts'
import { wantsCredit } from '../words/explain.ts'

/**
 * One top-up by what a 402 says is missing, within the policy. Throws the wallet's refusal or its question; with another
 * payment just made, nothing is signed and `isEarlier` says to look again.
 */
export async function payAfter402(
  { client, topUps, wallet }: AgentContext,
  error: ServiceError,
  { amountMicroUsd: priceMicroUsd, what: purpose }: PricedCall,
  call: NonNullable<Order['call']>,
): Promise<PaidOrder | null> {
  if (!wallet || !wantsCredit(error)) return null
  const offer = await topUps.offer()
  const amountMicroUsd = missing(error, priceMicroUsd)
  const order = { origin: client.address.origin, ...offer, amountMicroUsd, purpose, call, toldMicroUsd: told(error) }
  try {
    return await wallet.pay({ ...order, occasion: 'after-402' }, topUps.send)
  } catch (refusal) {
    // The offer may have changed since it was kept.
    topUps.forget()
    throw refusal
  }
}

/** What the call needs less what is there; the wallet raises it to the smallest top-up. Never the suggested amount. */
export function missing(error: ServiceError, priceMicroUsd: MicroUsd | null): MicroUsd {
  const said = WalletCreditRequired.safeParse(error.body)
  const needed = said.success ? fromUsdNumber(said.data.minimumBalanceUsd ?? 0) : null
  const available = told(error) ?? microUsd(0)
  // Our own price, or where there is none the smallest top-up, bounds what a service may claim to need; nobody owes it
  // what a balance below zero says.
  const bound = priceMicroUsd ?? smallestTopUpMicroUsd
  const wanted = needed !== null && needed < bound ? needed : bound
  const difference = wanted - (available > 0n ? available : 0n)
  return microUsd(difference > 0n ? difference : 1n)
}

/** The credit that a 402 tells; null where it tells none. */
function told({ body, headers }: ServiceError): MicroUsd | null {
  const said = WalletCreditRequired.safeParse(body)
  const inBody = said.success && said.data.currentBalanceUsd != null ? fromUsdNumber(said.data.currentBalanceUsd) : null
  return inBody ?? balanceUsd.parse(headers[balanceUsd.name] ?? '')
}

/**
 * Sends again, once in a process, what an earlier one had signed and nobody has answered: the same bytes, before the first
 * paid call, so that credit which they brought is seen before more is paid. What stays open stands in the journal.
 */
export function recoverOnce(agent: AgentContext): () => Promise<void> {
  const { wallet, topUps } = agent
  let recovery: Promise<void> | undefined
  const recover = async () => {
    if (!wallet) return
    const { openPayments, isPayerDecided } = await wallet.status()
    if (!isPayerDecided) await findCredit(agent, wallet)
    if (openPayments.length === 0) return
    try {
      await wallet.recover(topUps.send)
    } catch (error) {
      // Credit may be there all the same; the next payment says what stands in its way.
      if (!(error instanceof WalletRefusal)) throw error
    }
  }
  return () => {
    recovery ??= recover().catch(error => {
      // A journal that is away now is there for a later call.
      recovery = undefined
      throw error
    })
    return recovery
  }
}

/** Before a wallet of several rails has ever paid here, credit that lies in one of its accounts is spent first. */
async function findCredit(agent: AgentContext, wallet: NonNullable<AgentContext['wallet']>): Promise<void> {
  for (const address of wallet.addresses) {
    wallet.useAccount(address)
    const credit = await creditOf(agent)
    if (credit !== null && credit > 0n) return
  }
  wallet.useAccount(null)
}
