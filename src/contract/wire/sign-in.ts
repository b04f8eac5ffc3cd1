import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { decodeBase64Json } from './header-codec.ts'
import { evmNetwork } from './networks.ts'
import { readSignInMessage, type SignInFields, writeSignInMessage } from './sign-in-message.ts'

/** Header `SIGN-IN-WITH-X` (brief §5.2), in both payload shapes in public use (published contract §2). */

/** Why a sign-in is refused. Checks that need a clock, a key or a store happen where the sign-in is verified. */
export const signInCodes = [
  'X402_SIGN_IN_INVALID_PAYLOAD',
  'X402_SIGN_IN_PARSE_ERROR',
  'X402_SIGN_IN_INVALID_MESSAGE',
  'X402_SIGN_IN_ADDRESS_MISMATCH',
  'X402_SIGN_IN_INVALID_CHAIN_ID',
  'X402_SIGN_IN_CHAIN_MISMATCH',
  'X402_SIGN_IN_UNSUPPORTED_CHAIN',
  'X402_SIGN_IN_MISSING_NONCE',
  'X402_SIGN_IN_DOMAIN_MISMATCH',
  'X402_SIGN_IN_TIMESTAMP_MISMATCH',
  'X402_SIGN_IN_EXPIRED',
  'X402_SIGN_IN_FUTURE_TIMESTAMP',
  'X402_SIGN_IN_NOT_BEFORE',
  'X402_SIGN_IN_INVALID_SIGNATURE',
  'X402_SIGN_IN_INVALID_WALLET',
  'X402_SIGN_IN_NONCE_REUSED',
] as const
export type SignInCode = (typeof signInCodes)[number]

/** The contents of a header: the fields of the signed text, that text, and the signature, which is not verified yet. */
export interface SignInClaim {
  fields: SignInFields
  /** As in the text; EVM addresses in any case. */
  address: string
  domain: string
  uri: string
  /** CAIP-2. */
  chainId: string
  nonce: string
  issuedAtMs: number
  expirationTimeMs: number | null
  notBeforeMs: number | null
  /** The payload's own time, if it has one. */
  timestampMs: number | null
  /** The exact bytes that were signed. */
  message: string
  signature: string
}

export type ReadSignIn = { ok: true; claim: SignInClaim } | { ok: false; code: SignInCode }

const Signature = z.string().min(1).max(300)
const ChainId = z.union([z.string().max(64), z.number().int().positive()])

const SignatureType = z.enum(['eip191', 'eip1271', 'eip6492', 'ed25519'])

/** Facts that the message already states. A payload may repeat but not contradict them. */
const repeatable = {
  domain: z.string().optional(),
  statement: z.string().optional(),
  uri: z.string().optional(),
  version: z.string().optional(),
  nonce: z.string().optional(),
  issuedAt: z.string().optional(),
  expirationTime: z.string().optional(),
  notBefore: z.string().optional(),
  requestId: z.string().optional(),
  resources: z.array(z.string()).optional(),
}

const MessagePayload = z.object({
  ...repeatable,
  address: z.string(),
  message: z.string(),
  signature: Signature,
  timestamp: z.number().int().nonnegative().optional(),
  chainId: ChainId.optional(),
  type: SignatureType.optional(),
})

const StructuredPayload = z.object({
  domain: z.string(),
  address: z.string(),
  statement: z.string().optional(),
  uri: z.string(),
  version: z.string(),
  chainId: z.string(),
  type: SignatureType.optional(),
  nonce: z.string().optional(),
  issuedAt: z.string(),
  expirationTime: z.string().optional(),
  notBefore: z.string().optional(),
  requestId: z.string().optional(),
  resources: z.array(z.string()).optional(),
  signature: Signature,
})

const refused = (code: SignInCode): ReadSignIn => ({ ok: false, code })

/** Parses either shape. The signed text decides: if the JSON differs from it, the code says where. Never throws. */
export function readSignInHeader(header: string): ReadSignIn {
  const json = decodeBase64Json(header)
  if (!json.ok || typeof json.value !== 'object' || json.value === null || Array.isArray(json.value)) {
    return refused('X402_SIGN_IN_INVALID_PAYLOAD')
  }
  return 'message' in json.value ? readMessageShape(json.value) : readStructuredShape(json.value)
}

function readMessageShape(value: object): ReadSignIn {
  const payload = MessagePayload.safeParse(value)
  if (!payload.success) return refused('X402_SIGN_IN_PARSE_ERROR')
  const { address, message, signature, timestamp, chainId, type, ...repeated } = payload.data
  const fields = readSignInMessage(message)
  if (!fields) return refused('X402_SIGN_IN_INVALID_MESSAGE')
  if (!sameAddress(address, fields)) return refused('X402_SIGN_IN_ADDRESS_MISMATCH')
  if (chainId !== undefined) {
    const named = caip2(chainId)
    if (named === null) return refused('X402_SIGN_IN_INVALID_CHAIN_ID')
    if (named !== fields.chainId) return refused('X402_SIGN_IN_CHAIN_MISMATCH')
  }
  if (!typeFits(type, fields)) return refused('X402_SIGN_IN_CHAIN_MISMATCH')
  if (repeated.domain !== undefined && repeated.domain !== fields.domain) {
    return refused('X402_SIGN_IN_DOMAIN_MISMATCH')
  }
  if (contradicts(repeated, fields)) return refused('X402_SIGN_IN_INVALID_MESSAGE')
  return { ok: true, claim: claimOf(fields, message, signature, timestamp ?? null) }
}

const contradicts = (repeated: Record<string, unknown>, fields: SignInFields): boolean =>
  Object.entries(repeated).some(([name, value]) => {
    const signed: unknown = fields[name as keyof SignInFields]
    return value !== undefined && JSON.stringify(value) !== JSON.stringify(signed)
  })

function readStructuredShape(value: object): ReadSignIn {
  const payload = StructuredPayload.safeParse(value)
  if (!payload.success) return refused('X402_SIGN_IN_PARSE_ERROR')
  const { signature, type, nonce, version, chainId, ...rest } = payload.data
  if (!nonce) return refused('X402_SIGN_IN_MISSING_NONCE')
  const named = caip2(chainId)
  if (named === null) return refused('X402_SIGN_IN_INVALID_CHAIN_ID')
  if (version !== '1') return refused('X402_SIGN_IN_INVALID_MESSAGE')
  // Clients omit empty members when they write the text.
  const { statement, resources, ...plain } = rest
  const fields: SignInFields = {
    ...plain,
    ...(statement ? { statement } : {}),
    ...(resources?.length ? { resources } : {}),
    nonce,
    version,
    chainId: named,
  }
  const message = writtenOrNull(fields)
  if (message === null) return refused('X402_SIGN_IN_INVALID_MESSAGE')
  if (!typeFits(type, fields)) return refused('X402_SIGN_IN_CHAIN_MISMATCH')
  return { ok: true, claim: claimOf(fields, message, signature, null) }
}

function writtenOrNull(fields: SignInFields): string | null {
  try {
    return writeSignInMessage(fields)
  } catch {
    return null
  }
}

const isSolana = (fields: SignInFields): boolean => fields.chainId.startsWith('solana:')

const sameAddress = (address: string, fields: SignInFields): boolean =>
  isSolana(fields) ? address === fields.address : address.toLowerCase() === fields.address.toLowerCase()

/** `ed25519` means Solana; anything else, or no type, means an EVM signature. */
const typeFits = (type: string | undefined, fields: SignInFields): boolean =>
  type === undefined || (type === 'ed25519') === isSolana(fields)

/** `8453`, `"8453"` and `"eip155:8453"` name the same chain. */
function caip2(chainId: string | number): string | null {
  const text = String(chainId)
  if (/^\d{1,18}$/.test(text)) return `${evmNetwork.slice(0, evmNetwork.indexOf(':'))}:${text}`
  return /^(eip155:[1-9]\d{0,17}|solana:[1-9A-HJ-NP-Za-km-z]{1,44})$/.test(text) ? text : null
}

function claimOf(fields: SignInFields, message: string, signature: string, timestampMs: number | null): SignInClaim {
  const { address, domain, uri, chainId, nonce } = fields
  return {
    fields,
    address,
    domain,
    uri,
    chainId,
    nonce,
    issuedAtMs: Date.parse(fields.issuedAt),
    expirationTimeMs: fields.expirationTime === undefined ? null : Date.parse(fields.expirationTime),
    notBeforeMs: fields.notBefore === undefined ? null : Date.parse(fields.notBefore),
    timestampMs,
    message,
    signature,
  }
}

/**
 * For a client: returns the header for a message signed with its own key, `signature` over
 * `writeSignInMessage(fields)`.
 */
export function writeSignInHeader(
  signed: { fields: SignInFields; signature: string },
  shape: 'message' | 'structured',
): string {
  const { fields, signature } = signed
  const type = isSolana(fields) ? 'ed25519' : 'eip191'
  const payload =
    shape === 'structured'
      ? { ...fields, type, signature }
      : {
          address: fields.address,
          message: writeSignInMessage(fields),
          signature,
          timestamp: Date.parse(fields.issuedAt),
          chainId: fields.chainId,
          ...(isSolana(fields) ? { type } : {}),
        }
  return Buffer.from(JSON.stringify(payload)).toString('base64')
}
