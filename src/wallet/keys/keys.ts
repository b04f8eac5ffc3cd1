import { inspect } from 'node:util'
import type { PrivateKeyAccount } from 'viem/accounts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { SolanaKey } from './solana-key.ts'

/** What is signed; the shape of EIP-712. */
export interface TypedData {
  domain: { name: string; version: string; chainId: number; verifyingContract: `0x${string}` }
  types: Readonly<Record<string, readonly { name: string; type: string }[]>>
  primaryType: string
  message: Readonly<Record<string, unknown>>
}

/** A key that can sign and can't be shown: neither a log, nor an error, nor JSON holds more of it than its address. */
export type WalletKey = EvmKey | SolanaKey

/** The key of the EVM rail. */
export class EvmKey {
  /** Of CAIP-2: which chains it is for. */
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

/** The key of an environment's value: 64 hex digits, `0x` before them or not. viem is read only here, by what signs. */
export async function keyFromHex(value: string): Promise<EvmKey> {
  const digits = hexKey.exec(value.trim())?.[1]
  if (!digits) throw badKey()
  const { privateKeyToAccount } = await import('viem/accounts')
  let account: PrivateKeyAccount
  try {
    account = privateKeyToAccount(`0x${digits}`)
  } catch {
    // The library's own error repeats what it was given.
    throw badKey()
  }
  return new EvmKey(account)
}

const badKey = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'key',
    sentence: "The wallet's key is not an EVM private key.",
    nextStep: 'It is 64 hexadecimal digits; `farebox wallet create` makes a new one.',
  })

/** Digits of a new key, for whoever writes them to a file. */
export async function newKeyHex(): Promise<string> {
  const { generatePrivateKey } = await import('viem/accounts')
  return generatePrivateKey()
}
