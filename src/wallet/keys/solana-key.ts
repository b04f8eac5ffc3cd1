import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { inspect } from 'node:util'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { WalletRefusal } from '../terms/refusal.ts'

/** Everything in PKCS #8 of an Ed25519 key before its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

export const seedBytes = 32
const keypairBytes = 64
const addressBytes = 32

/** The key of the Solana rail: it signs and can't be shown. */
export class SolanaKey {
  /** Of CAIP-2: which chains it is for. */
  readonly namespace = 'solana'
  readonly address: string
  readonly #key: KeyObject

  /** `seed` is the secret half, 32 bytes; the caller may wipe it afterwards. */
  constructor(seed: Uint8Array) {
    const der = Buffer.concat([pkcs8Prefix, seed])
    this.#key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    der.fill(0)
    this.address = encodeBase58(publicBytesOf(this.#key))
  }

  /** Base58 of Ed25519 over the text's UTF-8, as CAIP-122 has it for Solana. */
  async signMessage(message: string): Promise<string> {
    return encodeBase58(this.signBytes(Buffer.from(message)))
  }

  signBytes(message: Uint8Array): Uint8Array {
    return sign(null, message, this.#key)
  }

  toJSON(): { address: string } {
    return { address: this.address }
  }

  toString(): string {
    return `SolanaKey ${this.address}`
  }

  [inspect.custom](): string {
    return this.toString()
  }
}

const publicBytesOf = (key: KeyObject): Buffer =>
  Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url')

/** The key of a text as wallets export it: base58 of 64 bytes, the secret half and then the public one. */
export function solanaKeyFrom(text: string): SolanaKey {
  const bytes = decodeBase58(text.trim(), keypairBytes)
  if (!bytes) throw badKey('is no Solana key')
  const key = new SolanaKey(bytes.subarray(0, seedBytes))
  if (encodeBase58(bytes.subarray(seedBytes)) === key.address) return key
  throw badKey('has two halves that do not belong together')
}

/** As wallets take it in; for `farebox wallet export` alone. */
export function exportedSolanaKey(seed: Uint8Array): string {
  const { address } = new SolanaKey(seed)
  return encodeBase58(Buffer.concat([seed, decodeBase58(address, addressBytes) ?? new Uint8Array()]))
}

export const newSolanaSeed = (): Buffer => randomBytes(seedBytes)

const badKey = (what: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'key',
    sentence: `The wallet's key for Solana ${what}.`,
    nextStep: 'It is base58 of 64 bytes, as wallets export it; copy it whole.',
  })
