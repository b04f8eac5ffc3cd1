import { smallestTopUpMicroUsd, solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { FacilitatorHeaders } from './facilitators/facilitator-http.ts'
import { SolanaKey } from './solana/solana-key.ts'
import type { SolanaCommitment } from './solana/svm-executed.ts'

/** Where top-ups go, and what settles them there. */
export interface PaymentSettings {
  /** What a 402 offers first, all on one EVM network. */
  options: readonly [PaymentOption, ...PaymentOption[]]
  rpcUrl: string
  /** Blocks that must follow a payment's own before it is credited: 0 on a local chain, 5 or more (ten seconds) on Base. */
  confirmations: number
  /** Pays the gas of settlements; never the payee's. Absent where `facilitator` settles. */
  facilitatorKey?: `0x${string}`
  /** Somebody else who settles on the EVM network, in place of a key of our own; what is credited the node still decides. */
  facilitator?: RemoteFacilitatorSettings
  /** What our own key may spend on gas in an hour, in wei; 0.05 ETH where it is not said. */
  feesPerHourWei?: bigint
  /** Takes payments of contracts that check their signatures themselves (EIP-1271): false where it is not said, because a stranger's code then runs for each of them. */
  contractWallets?: boolean
  /** Offered after them. Absent where payments on Solana are not taken. */
  solana?: SolanaPaymentSettings
}

export interface RemoteFacilitatorSettings {
  /** Of any facilitator of x402 version 2, with its path where it has one; https, or http on this machine. */
  url: string
  /** What signs us in there, made for each request anew; nothing where absent. Never logged. */
  headers?: FacilitatorHeaders
}

export interface SolanaPaymentSettings {
  /** Receives the money, in a USDC account that must be open. */
  payTo: string
  rpcUrl: string
  /** `confirmed` within a second or two; `finalized` after some thirteen, when no block can be dropped any more. */
  commitment: SolanaCommitment
  /**
   * Pays the fees of settlements, never the payee's: base58 of 64 bytes, as wallets export a key. Absent where
   * `facilitator` settles.
   */
  feePayerKey?: string
  /** Somebody else who settles, in place of a key of our own; what is credited the node still decides. */
  facilitator?: RemoteFacilitatorSettings & {
    /** The address that it pays fees from. */
    feePayer: string
  }
}

/** How long a payer may take, as the published contract has it; the chain forgets a blockhash sooner. */
const maxTimeoutSeconds = 300

/** All that is offered. Throws where the fee payer's key cannot be read. */
export const paymentOptionsOf = ({ options, solana }: PaymentSettings): readonly PaymentOption[] =>
  solana ? [...options, solanaOption(solana)] : options

/** Throws a sentence where it is not clear who pays the fees. */
export function feePayerOf({ feePayerKey, facilitator }: SolanaPaymentSettings): string {
  if (feePayerKey && !facilitator) return new SolanaKey(feePayerKey).address
  if (facilitator && !feePayerKey) return facilitator.feePayer
  throw new Error(
    'Payments on Solana are settled by a key or by a remote facilitator; set one of feePayerKey and facilitator.',
  )
}

const solanaOption = (solana: SolanaPaymentSettings): PaymentOption => ({
  scheme: 'exact',
  network: solanaNetwork,
  amount: `${smallestTopUpMicroUsd}`,
  asset: usdcOnSolana,
  payTo: solana.payTo,
  maxTimeoutSeconds,
  extra: { feePayer: feePayerOf(solana) },
})
