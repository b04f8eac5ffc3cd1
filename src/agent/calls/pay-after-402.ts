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

/** A payment that a call's result reports. */
export type CallPayment = Pick<PaidOrder, 'receiptId' | 'amountMicroUsd' | 'isResent'>

/**
 * Makes one top-up for the amount that a 402 reports as missing, within the policy. Throws the wallet's refusal or its
 * request for approval. If another payment was just made, nothing is signed, and `isEarlier` means: check the credit
 * again.
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
  const order = {
    origin: client.address.origin,
    ...offer,
    amountMicroUsd,
    purpose,
    call,
    reportedMicroUsd: reportedCredit(error),
  }
  try {
    return await wallet.pay({ ...order, occasion: 'after-402' }, topUps.send)
  } catch (refusal) {
    // The cached offer may be outdated.
    topUps.forget()
    throw refusal
  }
}

/**
 * Returns the call's price minus the credit; the wallet raises it to the smallest top-up. Never uses the suggested
 * amount.
 */
export function missing(error: ServiceError, priceMicroUsd: MicroUsd | null): MicroUsd {
  const said = WalletCreditRequired.safeParse(error.body)
  const needed = said.success ? fromUsdNumber(said.data.minimumBalanceUsd ?? 0) : null
  const available = reportedCredit(error) ?? microUsd(0)
  // Our own price, or without one the smallest top-up, limits how much a service may claim to need; a negative balance
  // is not the caller's debt.
  const bound = priceMicroUsd ?? smallestTopUpMicroUsd
  const wanted = needed !== null && needed < bound ? needed : bound
  const difference = wanted - (available > 0n ? available : 0n)
  return microUsd(difference > 0n ? difference : 1n)
}

/** Returns the credit that a 402 reports; null if it reports none. */
function reportedCredit({ body, headers }: ServiceError): MicroUsd | null {
  const said = WalletCreditRequired.safeParse(body)
  const inBody = said.success && said.data.currentBalanceUsd != null ? fromUsdNumber(said.data.currentBalanceUsd) : null
  return inBody ?? balanceUsd.parse(headers[balanceUsd.name] ?? '')
}

/**
 * Once per process, sends again what an earlier process had signed without getting an answer: the same bytes, before
 * the first paid call, so that their credit is seen before more is paid. A payment that stays pending remains in the
 * journal. Returns the credited ones, to the first caller only.
 */
export function recoverOnce(agent: AgentContext): () => Promise<readonly CallPayment[]> {
  const { wallet, topUps } = agent
  let recovery: Promise<void> | undefined
  let resent: CallPayment[] = []
  const recover = async () => {
    if (!wallet) return
    const { openPayments, isPayerDecided } = await wallet.status()
    if (!isPayerDecided) await findCredit(agent, wallet)
    if (openPayments.length === 0) return
    try {
      const credited = (await wallet.recover(topUps.send)).filter(({ state }) => state === 'confirmed')
      resent = credited.map(({ id, amountMicroUsd }) => ({ receiptId: id, amountMicroUsd, isResent: true }))
    } catch (error) {
      // There may be credit anyway; the next payment reports any problem.
      if (!(error instanceof WalletRefusal)) throw error
    }
  }
  return async () => {
    recovery ??= recover().catch(error => {
      // If the journal is unreachable now, a later call tries again.
      recovery = undefined
      throw error
    })
    await recovery
    return resent.splice(0)
  }
}

/**
 * Before a wallet with several rails has paid here for the first time, it spends existing credit in one of its
 * accounts.
 */
async function findCredit(agent: AgentContext, wallet: NonNullable<AgentContext['wallet']>): Promise<void> {
  for (const address of wallet.addresses) {
    wallet.useAccount(address)
    const credit = await creditOf(agent)
    if (credit !== null && credit > 0n) return
  }
  wallet.useAccount(null)
}
