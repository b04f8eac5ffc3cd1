import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { blockhashTries, solanaPollMs } from '../bounds.ts'
import { ChainUnavailable, type PaymentReason } from '../payment/payment.ts'
import { readMessage, readTransfer, type SvmTransfer, wireOf } from './solana-message.ts'
import type { SolanaRpc } from './solana-node.ts'
import type { SvmPayment } from './svm-rail.ts'

/** What a chain's error says about a transaction that was not executed. */
export type SvmRefusal =
  | { by: 'payment'; reason: PaymentReason }
  /** Our fee payer or our account is at fault; for the operator. */
  | { by: 'us'; why: string }
  /** A program refused it; either side may be at fault. */
  | { by: 'program' }

type JudgedRefusal = Exclude<SvmRefusal, { by: 'program' }>

const Simulated = z.object({ value: z.object({ err: z.unknown() }) })
const Account = z.object({ data: z.tuple([z.string(), z.literal('base64')]) })
const Accounts = z.object({ value: z.array(Account.nullable()).length(2) })

/** Returns why the chain would not execute a payment now; null if it would. Rejects with `ChainUnavailable`. */
export async function simulatedRefusal(rpc: SolanaRpc, payment: SvmPayment): Promise<JudgedRefusal | null> {
  let error = await simulate(rpc, payment)
  // One of several nodes behind an address may be a block behind the one that told the payer the blockhash.
  for (let tries = 1; tries < blockhashTries && error === unknownBlockhash; tries++) {
    await sleep(solanaPollMs)
    error = await simulate(rpc, payment)
  }
  return error === null ? null : refusalOf(error, rpc, payment)
}

const unknownBlockhash = 'BlockhashNotFound'

async function simulate(rpc: SolanaRpc, payment: SvmPayment): Promise<unknown> {
  // Signed by the payer alone: until the payment is claimed, no node gets a transaction that could be executed.
  const wire = wireOf(new Uint8Array(64), payment)
  const config = { encoding: 'base64', sigVerify: false, replaceRecentBlockhash: false, commitment: 'processed' }
  try {
    return (await rpc.ask('simulateTransaction', [wire, config], Simulated)).value.err
  } catch (cause) {
    throw new ChainUnavailable('The payment could not be checked against the chain.', { cause })
  }
}

/** The error does not say which account a program refused, so both are checked. */
export async function refusalOf(error: unknown, rpc: SolanaRpc, payment: SvmPayment): Promise<JudgedRefusal> {
  const refusal = refusalOfError(error)
  if (refusal.by !== 'program') return refusal
  const { source, destination } = transferOf(payment)
  try {
    const config = { encoding: 'base64', commitment: 'processed' }
    const { value } = await rpc.ask('getMultipleAccounts', [[source, destination], config], Accounts)
    const [paying, paid] = value
    if (!paid) return { by: 'us', why: 'The payee has no token account on Solana; open one.' }
    if (isFrozen(Buffer.from(paid.data[0], 'base64')))
      return { by: 'us', why: 'The payee’s token account on Solana is frozen; set payTo to another address.' }
    return { by: 'payment', reason: paying ? 'simulation_failed' : 'insufficient_funds' }
  } catch (cause) {
    throw new ChainUnavailable('The payment could not be checked against the chain.', { cause })
  }
}

/** Offset of a token account's state, and the state in which its issuer has frozen it. */
const [stateAt, frozen] = [108, 2]

export const isFrozen = (account: Uint8Array): boolean => account[stateAt] === frozen

/** The fee payer is unknown to the chain, has too little, or cannot pay fees. */
const feeErrors = ['AccountNotFound', 'InsufficientFundsForFee', 'InvalidAccountForFee']

/** `Custom(1)` of the token program, the only program in a payment besides a memo. */
const InsufficientTokens = z.object({
  InstructionError: z.tuple([z.number(), z.object({ Custom: z.literal(1) })]),
})

export function refusalOfError(error: unknown): SvmRefusal {
  if (error === unknownBlockhash) return { by: 'payment', reason: 'expired' }
  if (error === 'AlreadyProcessed') return { by: 'payment', reason: 'nonce_used' }
  if (feeErrors.includes(String(error)) || isRentOf(error)) return { by: 'us', why: poorFeePayer }
  if (InsufficientTokens.safeParse(error).success) return { by: 'payment', reason: 'insufficient_funds' }
  return { by: 'program' }
}

const poorFeePayer = 'The account that pays fees on Solana has too little SOL; send it some.'

const isRentOf = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'InsufficientFundsForRent' in error

export const messageOf = ({ message }: SvmPayment): Uint8Array => Buffer.from(message, 'base64')

export function transferOf(payment: SvmPayment): SvmTransfer {
  const message = readMessage(messageOf(payment))
  if (!message) throw new Error('The stored message cannot be read.')
  return readTransfer(message)
}
