import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { decodeBase58 } from '#contract/wire/base58.ts'

const verifyInPool = promisify<null, Uint8Array, ReturnType<typeof createPublicKey>, Uint8Array, boolean>(verify)

const keyBytes = 32
const signatureBytes = 64

/** The order of the curve's field; a coordinate that is not below it is a second encoding of a smaller one. */
const fieldOrder = 2n ** 255n - 19n

/** The `y` of every point of order 8 or less: OpenSSL before 3.5 accepts forged signatures for a key at one of them. */
const smallOrderY = new Set([
  0n,
  1n,
  fieldOrder - 1n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
])

/** Returns the key of a Solana address, null if no message may be signed with it. */
export function ed25519Key(address: string): Uint8Array | null {
  const key = decodeBase58(address, keyBytes)
  if (!key) return null
  const littleEndian = Buffer.from(key).reverse().toString('hex')
  const y = BigInt(`0x${littleEndian}`) & (2n ** 255n - 1n)
  return y >= fieldOrder || smallOrderY.has(y) ? null : key
}

/** Returns the 64 bytes of a signature in base58 or padded base64. */
export function ed25519Signature(text: string): Uint8Array | null {
  // 64 bytes of base64 always end in `==`, which base58 does not have, so no text can be read both ways.
  if (!text.endsWith('==')) return decodeBase58(text, signatureBytes)
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === signatureBytes && bytes.toString('base64') === text ? bytes : null
}

/** Whether the key signed the UTF-8 text. OpenSSL rejects an `s` beyond the order; it runs in libuv's pool. */
export async function isSignedByKey(key: Uint8Array, message: string, signature: Uint8Array): Promise<boolean> {
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key).toString('base64url') }
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    return await verifyInPool(null, Buffer.from(message), publicKey, signature)
  } catch {
    // The bytes are not a point on the curve.
    return false
  }
}

/** Compares hashes, so that timing reveals neither the length nor the beginning of a secret. */
export const isSameSecret = (one: string, other: string): boolean => timingSafeEqual(hashOf(one), hashOf(other))

/** Where a connection ends on its server's side. */
export interface ServerEnd {
  address: string
  port: number
}

/**
 * Proves to the sender of a challenge that this process knows a secret, which is not sent, and that it is the server of
 * this connection: if another program passes the challenge on, it gets the proof of another connection.
 */
export const proofOfSecret = (secret: string, challenge: string, { address, port }: ServerEnd): string =>
  createHmac('sha256', secret)
    .update(`proof\n${plainAddress(address)}\n${port}\n${challenge}`)
    .digest('base64url')

/** A socket for both families shows an IPv4 address as an IPv6 one. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '')

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()
