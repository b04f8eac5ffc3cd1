import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { inspect } from 'node:util'
import type { PrivateKeyAccount } from 'viem/accounts'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { WalletRefusal } from '../terms/refusal.ts'

/** Data to sign, in the shape of EIP-712. */
interface TypedData {
  domain: { name: string; version: string; chainId: number; verifyingContract: `0x${string}` }
  types: Readonly<Record<string, readonly { name: string; type: string }[]>>
  primaryType: string
  message: Readonly<Record<string, unknown>>
}

/** A key that can sign but cannot be shown: logs, errors and JSON contain only its address. */
export type WalletKey = EvmKey | SolanaKey

/** The key of the EVM rail. */
export class EvmKey {
  /** The CAIP-2 namespace of its chains. */
  readonly namespace = 'eip155'
  readonly address: string
  readonly #account: PrivateKeyAccount

  constructor(account: PrivateKeyAccount) {
    this.address = account.address
    this.#account = account
  }

  /** EIP-191. */
  signMessage(message: string): Promise<string> {
    return this.#account.signMessage({ message })
  }

  signTypedData(data: TypedData): Promise<string> {
    return this.#account.signTypedData(data as Parameters<PrivateKeyAccount['signTypedData']>[0])
  }

  toJSON(): { address: string } {
    return { address: this.address }
  }

  toString(): string {
    return `EvmKey ${this.address}`
  }

  [inspect.custom](): string {
    return this.toString()
  }
}

const hexKey = /^(?:0x)?([0-9a-fA-F]{64})$/

/**
 * Parses a key from an environment variable: 64 hex digits with or without `0x`. viem is loaded only here, when
 * signing.
 */
export async function keyFromHex(value: string): Promise<EvmKey> {
  const digits = hexKey.exec(value.trim())?.[1]
  if (!digits) throw badKey()
  const { privateKeyToAccount } = await import('viem/accounts')
  let account: PrivateKeyAccount
  try {
    account = privateKeyToAccount(`0x${digits}`)
  } catch {
    // The library's own error repeats its input.
    throw badKey()
  }
  return new EvmKey(account)
}

const badKey = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'key',
    sentence: "The wallet's key is not an EVM private key.",
    nextStep: 'It must have 64 hexadecimal digits; `farebox wallet create` creates a new key.',
  })

/** Returns the digits of a new key, to be written to a file. */
export async function newKeyHex(): Promise<string> {
  const { generatePrivateKey } = await import('viem/accounts')
  return generatePrivateKey()
}

/** The PKCS #8 prefix of an Ed25519 key, before its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

export const seedBytes = 32
const keypairBytes = 64
const addressBytes = 32

/** The key of the Solana rail: it can sign but cannot be shown. */
export class SolanaKey {
  /** The CAIP-2 namespace of its chains. */
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

  /** Returns base58 of Ed25519 over the text's UTF-8, as CAIP-122 specifies for Solana. */
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

/** Parses a key in the form that wallets export: base58 of 64 bytes, the secret half first, then the public one. */
export function solanaKeyFrom(text: string): SolanaKey {
  const bytes = decodeBase58(text.trim(), keypairBytes)
  if (!bytes) throw badSolanaKey('is not a Solana key')
  const key = new SolanaKey(bytes.subarray(0, seedBytes))
  if (encodeBase58(bytes.subarray(seedBytes)) === key.address) return key
  throw badSolanaKey('has two halves that do not match')
}

/** In the form that wallets import; only for `farebox wallet export`. */
export function exportedSolanaKey(seed: Uint8Array): string {
  const { address } = new SolanaKey(seed)
  return encodeBase58(Buffer.concat([seed, decodeBase58(address, addressBytes) ?? new Uint8Array()]))
}

export const newSolanaSeed = (): Buffer => randomBytes(seedBytes)

const badSolanaKey = (what: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'key',
    sentence: `The wallet's key for Solana ${what}.`,
    nextStep: 'It must be 64 bytes in base58, as wallet apps export it; copy all of it.',
  })
