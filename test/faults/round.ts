import type { KeyPairSigner } from '@solana/kit'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { LoadRecords } from './load-records.ts'
import type { Customer } from './prepare.ts'
import type { Seeded } from './seeded.ts'

/** The time between one start of the server and the end of its load. */
export interface Round {
  baseUrl: string
  /** API keys of customers with credit. */
  keys: readonly string[]
  wallets: readonly PrivateKeyAccount[]
  /** What a top-up must pay into. */
  option: PaymentOption
  solana: SolanaPayers
  /** All its calls carry an `Idempotency-Key`. */
  keyed: Customer
  /** The keys with a budget are this one's. */
  limited: Customer
  /** The data folder, and the local chain on which wallets stake. */
  folder: string
  rpcUrl: string
  book: LoadRecords
  /** A generator for this name and round. */
  seeded(name: string): Seeded
  /** Loads begin nothing more; what is under way may be cut by the kill. */
  isOver(): boolean
  /** When a server was about to be killed; infinite before that, and where the server dies by itself. */
  killedAtMs(): number
  /** Whether the server may be killed at any moment, so that a missing answer is no surprise. */
  mayBreak(): boolean
  /** Whether the store may be away: then an answer of 500 or above is no surprise, and may have cost something, once. */
  mayFail(): boolean
  /** What this start of the server may still be given. Conflicts over an `Idempotency-Key` count towards the abuse block. */
  budget: Record<'payments' | 'solanaPayments' | 'videos' | 'keys' | 'stakers' | 'keyConflicts', number>
}

/** Wallets of the local Solana chain with test money, and what their top-ups must pay into. */
export interface SolanaPayers {
  rpcUrl: string
  option: PaymentOption
  wallets: readonly KeyPairSigner[]
}

/** Works until the round is over. */
export type Load = (round: Round, seeded: Seeded) => Promise<void>
