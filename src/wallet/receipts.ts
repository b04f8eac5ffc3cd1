import { createPublicKey, verify } from 'node:crypto'
import { headerBytes } from '#contract/limits.ts'
import { displayUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import { ReceiptClaims, receiptType } from '#contract/operations/receipts.ts'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { normalizeWallet } from '#contract/wire/networks.ts'

/** A parsed receipt, whose signature is not verified yet. */
export interface ReadReceipt {
  /** The key that it claims to be signed with. */
  keyId: string
  claims: ReceiptClaims
}

const compact = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/

/** A key of another length is not an Ed25519 key (RFC 8032). */
const publicKeyPattern = /^[\w-]{43}$/

/** Maximum nesting in a receipt's parts. */
const depth = 8

/**
 * Returns null for anything that is not a compact JWS of this kind; never throws. Only EdDSA is accepted, whatever the
 * header names.
 */
export function readReceipt(text: string): ReadReceipt | null {
  const [, header = '', claims = ''] = text.length <= headerBytes ? (compact.exec(text) ?? []) : []
  const said = jsonOf(header) as { alg?: unknown; typ?: unknown; kid?: unknown } | null
  if (said?.alg !== 'EdDSA' || said.typ !== receiptType || typeof said.kid !== 'string') return null
  const read = ReceiptClaims.safeParse(jsonOf(claims))
  return read.success ? { keyId: said.kid, claims: read.data } : null
}

/** Whether this key has signed it; `publicKey` is in the form of a JWK's `x`. */
export function isSignedBy(text: string, publicKey: string): boolean {
  const [, header, claims, signature] = compact.exec(text) ?? []
  if (!signature || !publicKeyPattern.test(publicKey)) return false
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
    return verify(null, Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}

function jsonOf(part: string): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url'))
    const json = parseJsonWithUniqueNames(text, depth)
    return json.ok && typeof json.value === 'object' ? json.value : null
  } catch {
    return null
  }
}

/** What is known about a paid call without its receipt; null where it is unknown. */
export interface KnownCall {
  /** Base URL of the service that issued the receipt. */
  service: string
  /** The kind under which the service returned the receipt. */
  kind: ReceiptClaims['kind']
  /** The request id in the answer. */
  request: string | null
  operation: string | null
  model: string | null
  /** The cost in the answer, over all balances; for a job its quote. */
  saidMicroUsd: MicroUsd | null
  /** Its maximum cost when it was allowed. */
  mostMicroUsd: MicroUsd | null
}

/** Returns how a receipt contradicts what is known, as one sentence; null if it agrees. */
export function receiptProblem(
  claims: ReceiptClaims,
  known: KnownCall,
  payers: readonly string[] | null,
): string | null {
  const amount = microUsd(BigInt(claims.amount_micro_usd))
  const { usd, diem } = claims.paid_with
  const lines = claims.lines.reduce((sum, line) => sum + BigInt(line.amount_micro_usd), 0n)
  const { kind, service, request, operation, model, saidMicroUsd: said, mostMicroUsd: most } = known
  // A refund's amount is not compared with anything, so a refund must not pass for a charge.
  if (claims.kind !== kind) return `The receipt is for a ${claims.kind}, not a ${kind}.`
  if (addressOf(claims.iss) !== addressOf(service)) return 'The receipt is from another service.'
  if (request !== null && claims.request !== request) return 'The receipt is for another request.'
  if (payers !== null && !payers.some(payer => normalizeWallet(claims.sub) === normalizeWallet(payer)))
    return 'The receipt does not name this wallet as the payer.'
  if (operation !== null && claims.operation !== null && claims.operation !== operation)
    return 'The receipt is for another operation.'
  if (model !== null && claims.model !== null && claims.model !== model)
    return 'The receipt and the answer name different models.'
  if (BigInt(usd) + BigInt(diem) !== amount)
    return 'The parts paid from each balance do not add up to the receipt’s amount.'
  if (claims.kind === 'charge' && lines !== amount + BigInt(claims.written_off_micro_usd))
    return 'The lines of the receipt do not add up to its amount.'
  if (claims.kind === 'charge' && said !== null && amount !== said)
    return `The receipt is for ${displayUsd(amount)}, but the answer reports ${displayUsd(said)}.`
  if (claims.kind === 'charge' && most !== null && amount > most)
    return `The receipt is for ${displayUsd(amount)}, but the call could cost at most ${displayUsd(most)}.`
  return null
}

/** A service on this machine is the same one under each of the machine's names. */
function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url) return text
  if (isLoopback(url.hostname)) url.hostname = 'localhost'
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}${url.search}`
}
