import { chainName } from './networks.ts'
import type { PaymentOption } from './payment.ts'

/**
 * Where USDC can be bought, as a service states it in `extra.onRamp` of a 402's option: an https address, in which
 * `{address}` and `{network}` are replaced by the wallet's. Users see its host, and no program opens it.
 */
export interface OnRamp {
  url: string
  host: string
}

/** An option's `extra` is sent back in a header. */
export const onRampLength = 500

/**
 * Null if the text is not an https address, or contains a name and password, which could be mistaken for another host.
 */
export function onRampAt(template: unknown, terms: { address: string; network: string }): OnRamp | null {
  if (typeof template !== 'string' || template.length > onRampLength) return null
  const filled = template
    .replaceAll('{address}', encodeURIComponent(terms.address))
    .replaceAll('{network}', encodeURIComponent(chainName(terms.network).toLowerCase()))
  if (!URL.canParse(filled)) return null
  const { href, host, protocol, username, password } = new URL(filled)
  return protocol === 'https:' && username === '' && password === '' ? { url: href, host } : null
}

/** The link that an offer has for an address on a network. */
export function onRampOf(
  accepts: readonly PaymentOption[],
  terms: { address: string; network: string },
): OnRamp | null {
  const option = accepts.find(({ network }) => network === terms.network)
  return onRampAt(option?.extra?.onRamp, terms)
}
