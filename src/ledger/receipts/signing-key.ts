import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto'
import { receiptType } from '#contract/operations/receipts.ts'

/** PKCS #8 of an Ed25519 key, up to its 32 bytes (RFC 8410). */
const keyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/**
 * The key that receipts are signed with (Ed25519), derived from the service's secret: there is nothing more to keep or to
 * back up, and it changes with the secret. Nothing else that is signed with the secret can stand for a receipt.
 */
export class SigningKey {
  /** Thumbprint of the public key (RFC 7638). */
  readonly id: string
  /** base64url, a JWK's `x`. */
  readonly publicKey: string
  readonly #key: KeyObject
  readonly #header: string

  constructor(secret: string) {
    const seed = Buffer.from(hkdfSync('sha256', secret, '', 'farebox receipt signing key', 32))
    this.#key = createPrivateKey({ key: Buffer.concat([keyPrefix, seed]), format: 'der', type: 'pkcs8' })
    this.publicKey = createPublicKey(this.#key).export({ format: 'jwk' }).x ?? ''
    this.id = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${this.publicKey}"}`).digest('base64url')
    this.#header = base64url(JSON.stringify({ alg: 'EdDSA', kid: this.id, typ: receiptType }))
  }

  /** A compact JWS (RFC 7515, RFC 8037); the same claims always give the same text. */
  sign(claims: object): string {
    const signed = `${this.#header}.${base64url(JSON.stringify(claims))}`
    return `${signed}.${sign(null, Buffer.from(signed), this.#key).toString('base64url')}`
  }
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url')
