import { z } from 'zod'
import type { PaymentReason } from '../payment/payment-reasons.ts'

/** What an error of the chain says about a transaction that was not executed. */
export type SvmRefusal =
  | { by: 'payment'; reason: PaymentReason }
  /** Our fee payer or our account is at fault; for the operator. */
  | { by: 'us'; why: string }
  /** A program refused it, for either's fault. */
  | { by: 'program' }

/** Fee payers that are unknown to the chain, too poor, or not fit to pay. */
const feeErrors = ['AccountNotFound', 'InsufficientFundsForFee', 'InvalidAccountForFee']

/** `Custom(1)` of the token program, the only one that a payment runs beside a memo. */
const InsufficientTokens = z.object({
  InstructionError: z.tuple([z.number(), z.object({ Custom: z.literal(1) })]),
})

export function refusalOfError(error: unknown): SvmRefusal {
  if (error === 'BlockhashNotFound') return { by: 'payment', reason: 'expired' }
  if (error === 'AlreadyProcessed') return { by: 'payment', reason: 'nonce_used' }
  if (feeErrors.includes(String(error)) || isRentOf(error)) return { by: 'us', why: poorFeePayer }
  if (InsufficientTokens.safeParse(error).success) return { by: 'payment', reason: 'insufficient_funds' }
  return { by: 'program' }
}

const poorFeePayer = 'The account that pays fees on Solana has too little SOL; send it some.'

const isRentOf = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'InsufficientFundsForRent' in error
