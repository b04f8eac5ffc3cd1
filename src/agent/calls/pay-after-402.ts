import type { ServiceError } from '#contract/errors/service-error.ts'
import { fromUsdNumber, type MicroUsd, microUsd } from '#contract/money.ts'
import { balanceUsd } from '#contract/wire/headers.ts'
import { smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { WalletCreditRequired } from '#contract/wire/payment-required.ts'
import type { PaidOrder } from '#wallet/payment/pay.ts'
import type { Order } from '#wallet/terms/order.ts'
import type { Core } from '../core.ts'
import type { PricedCall } from '../prices/priced-call.ts'
import { wantsCredit } from '../words/wants-credit.ts'

/**
 * One top-up by what a 402 says is missing, within the policy. Throws the wallet's refusal or its question; with another
 * payment just made, nothing is signed and `isEarlier` says to look again.
 */
export async function payAfter402(
  { client, topUps, wallet }: Core,
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
