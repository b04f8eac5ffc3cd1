import { decodeBase64Json, type HeaderReader } from '#contract/wire/header-codec.ts'
import { paymentHeaderNames } from '#contract/wire/headers.ts'
import { x402Version } from '#contract/wire/networks.ts'
import { FlatPaymentPayload, PaymentPayload } from '#contract/wire/payment.ts'
import { quotedCharacters } from '../bounds.ts'
import { refusedPayment } from './payment-reasons.ts'

/** A payment as a client wrote it, nothing of it checked against what was asked for. */
export interface ReceivedPayment {
  scheme: string
  /** CAIP-2 or an older bare name. */
  network: string
  /** What the client says it accepted; null in the flat payload of older clients, which leaves it out. */
  accepted: { amount: string; asset: string; payTo: string } | null
  payload: Readonly<Record<string, unknown>>
}

/**
 * The payment of a request under any of its header names (brief §2.3), null where there is none. Throws `invalidPayment`.
 * A payment that came several times, byte for byte the same, is one.
 */
export function readPayment(header: HeaderReader): ReceivedPayment | null {
  // Base64 has no comma: where there is one, a server on the way has joined a header that came twice.
  const values = paymentHeaderNames.flatMap(name => header(name)).flatMap(value => value.split(','))
  const [text, ...others] = new Set(values.map(value => value.trim()))
  if (text === undefined) return null
  if (others.length > 0) throw refusedPayment('conflicting_headers', { headers: paymentHeaderNames })
  return parsePayment(decode(text))
}

function decode(text: string): unknown {
  const decoded = decodeBase64Json(text)
  if (decoded.ok) return decoded.value
  const problem = `the header ${decoded.reason}`.slice(0, quotedCharacters)
  if (decoded.reason.startsWith('is longer')) throw refusedPayment('too_long', { problem })
  const isText = decoded.reason !== 'is empty' && decoded.reason !== 'is not base64'
  throw refusedPayment(isText ? 'not_json' : 'not_base64', { problem })
}

function parsePayment(value: unknown): ReceivedPayment {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refusedPayment('not_json', { problem: 'the JSON is not an object' })
  }
  if (!('x402Version' in value) || value.x402Version !== x402Version) {
    throw refusedPayment('wrong_version', { x402Version })
  }
  if ('accepted' in value) {
    const parsed = PaymentPayload.safeParse(value)
    if (!parsed.success) throw refusedPayment('payload_members', { members: placesOf(parsed.error.issues) })
    const { accepted, payload } = parsed.data
    const { scheme, network, amount, asset, payTo } = accepted
    return { scheme, network, accepted: { amount, asset, payTo }, payload }
  }
  const parsed = FlatPaymentPayload.safeParse(value)
  if (!parsed.success) throw refusedPayment('payload_members', { members: placesOf(parsed.error.issues) })
  const { scheme, network, payload } = parsed.data
  return { scheme, network, accepted: null, payload }
}

/** Where in a payment the issues are: `payload.authorization.nonce`. */
export const placesOf = (issues: readonly { path: readonly PropertyKey[] }[]): string[] => [
  ...new Set(issues.map(({ path }) => path.map(String).join('.').slice(0, quotedCharacters) || 'payload')),
]
