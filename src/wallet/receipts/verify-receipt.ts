import { createPublicKey, verify } from 'node:crypto'
import { headerBytes } from '#contract/limits.ts'
import { ReceiptClaims, receiptType } from '#contract/operations/receipts.ts'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'

/** A receipt that can be read. Who signed it is another question. */
export interface ReadReceipt {
  /** The key that it says it is signed with. */
  keyId: string
  claims: ReceiptClaims
}

const compact = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/

/** A key of another length is no Ed25519 key (RFC 8032). */
const publicKeyPattern = /^[\w-]{43}$/

/** Nesting of what a receipt's parts may have. */
const depth = 8

/** Null for anything that is not a compact JWS of this kind; never throws. The algorithm is ours, whatever it names. */
export function readReceipt(text: string): ReadReceipt | null {
  const [, header = '', claims = ''] = text.length <= headerBytes ? (compact.exec(text) ?? []) : []
  const said = jsonOf(header) as { alg?: unknown; typ?: unknown; kid?: unknown } | null
  if (said?.alg !== 'EdDSA' || said.typ !== receiptType || typeof said.kid !== 'string') return null
  const read = ReceiptClaims.safeParse(jsonOf(claims))
  return read.success ? { keyId: said.kid, claims: read.data } : null
}

/** Whether this key has signed it, `publicKey` as in a JWK's `x`. */
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
