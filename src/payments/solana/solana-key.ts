import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { ed25519Key } from '#host/ed25519-signature.ts'

/** Everything in PKCS #8 of an Ed25519 key before its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

const seedBytes = 32
const keypairBytes = 64

/** An account of ours. Its signature of a message is always the same, so it can be told before and after it was sent. */
export class SolanaKey {
  readonly address: string
  readonly #key: KeyObject

  /** `text` is base58 of 64 bytes, as wallets export a key: the secret half, then the public one. Never shows it. */
  constructor(text: string) {
    const bytes = decodeBase58(text, keypairBytes)
    if (!bytes) throw new Error('A Solana key is base58 of 64 bytes, as wallets export it.')
    const der = Buffer.concat([pkcs8Prefix, bytes.subarray(0, seedBytes)])
    this.#key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const publicBytes = Buffer.from(createPublicKey(this.#key).export({ format: 'jwk' }).x ?? '', 'base64url')
    if (!publicBytes.equals(bytes.subarray(seedBytes))) {
      throw new Error('The two halves of a Solana key do not belong together; copy it whole.')
    }
    this.address = encodeBase58(publicBytes)
  }

  sign(message: Uint8Array): Uint8Array {
    return sign(null, message, this.#key)
  }
}

/** Whether the owner of an address signed these bytes; never of an address that is no key, or a weak one. */
export function isSignedBy(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  const bytes = ed25519Key(address)
  if (!bytes) return false
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bytes).toString('base64url') }
    return verify(null, message, createPublicKey({ key: jwk, format: 'jwk' }), signature)
  } catch {
    // Bytes that are no point of the curve.
    return false
  }
}
