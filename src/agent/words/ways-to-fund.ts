import { chainName } from '#contract/wire/networks.ts'
import { onRampOf } from '#contract/wire/on-ramp.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { FailureFacts } from '#toolkit/tool-failure.ts'

/**
 * Where USDC can come from, added to a failure for lack of funds. The service's link is among its own words, which are
 * marked as untrusted: an address can contain sentences, too.
 */
export function withWaysToFund(
  facts: FailureFacts,
  accepts: readonly PaymentOption[],
  terms: { address: string; network: string },
): FailureFacts {
  const onRamp = onRampOf(accepts, terms)
  const ways = `Send it from another wallet, or withdraw USDC from an exchange and choose ${chainName(terms.network)} there; other tokens and networks are lost.`
  if (!onRamp) return { ...facts, next: `${facts.next} ${ways}` }
  const proposed = 'The service also proposes a site that sells USDC, which farebox has not checked.'
  return { ...facts, next: `${facts.next} ${ways} ${proposed}`, said: onRamp.url }
}
