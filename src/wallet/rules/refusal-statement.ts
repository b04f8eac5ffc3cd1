import { encodeBase58 } from '#contract/wire/base58.ts'
import type { WalletKey } from '../keys/keys.ts'
import type { SolanaKey } from '../keys/solana-key.ts'
import type { RefusalRecord } from './refusals.ts'

/** What a wallet says of a refusal, signed by the key that would have paid; see docs/receipts.md. */
export interface SignedStatement {
  statement: string
  /** `eip191`: as wallets sign a message, hexadecimal. `solana-offchain-v1`: Ed25519 over that envelope, base58. */
  scheme: 'eip191' | 'solana-offchain-v1'
  signature: string
}

/**
 * The text that is signed. It never begins as a sign-in does, with a host that wants one; and what is signed of it, on
 * either rail, begins with bytes with which neither a transaction nor an authorisation can.
 */
export function refusalStatement(refusal: RefusalRecord): string {
  const time = (atMs: number) => new Date(atMs).toISOString()
  const amount = (microUsd: bigint | null) => (microUsd === null ? null : `${microUsd} micro-USD`)
  const lines: readonly (readonly [name: string, value: string | null])[] = [
    ['Wallet', refusal.address],
    ['Refusal', refusal.id],
    ['Rule', refusal.rule],
    ['Said', refusal.sentence],
    ['Service', refusal.origin],
    ['Operation', refusal.operation],
    ['Payee', refusal.payTo],
    ['Network', refusal.network],
    ['Asset', refusal.asset],
    ['Amount', amount(refusal.amountMicroUsd)],
    ['Limit', amount(refusal.limitMicroUsd)],
    ['Left', amount(refusal.leftMicroUsd)],
    ['Request SHA-256', refusal.requestHash],
    ['First', time(refusal.firstAtMs)],
    ['Last', time(refusal.lastAtMs)],
    ['Times', String(refusal.times)],
  ]
  return [
    'farebox statement of a refused payment, version 1',
    'This is neither a sign-in nor a payment, and it permits nothing.',
    '',
    ...lines.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${inOneLine(value)}`])),
  ].join('\n')
}

/** A value that could begin a line would be another member. */
const inOneLine = (value: string): string => value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')

export async function signStatement(key: WalletKey, statement: string): Promise<SignedStatement> {
  if (key.namespace === 'eip155') return { statement, scheme: 'eip191', signature: await key.signMessage(statement) }
  return { statement, scheme: 'solana-offchain-v1', signature: await signOffchain(key, statement) }
}

/** In the envelope of Solana's off-chain messages, whose first byte no transaction can have. */
async function signOffchain(key: SolanaKey, content: string): Promise<string> {
  const { address, compileOffchainMessageEnvelope } = await import('@solana/kit')
  const message = { version: 1, content, requiredSignatories: [{ address: address(key.address) }] } as const
  return encodeBase58(key.signBytes(Uint8Array.from(compileOffchainMessageEnvelope(message).content)))
}
