import { z } from 'zod'
import type { SvmPayment } from '../payment/signed-payment.ts'
import { readTransaction } from './solana-message.ts'
import type { SolanaRpc } from './solana-rpc.ts'

/** How deep a transaction must lie before it counts: voted for by two thirds of the stake, or never to be dropped. */
export type SolanaCommitment = 'confirmed' | 'finalized'

const TokenBalances = z
  .array(
    z.object({
      accountIndex: z.number(),
      mint: z.string(),
      uiTokenAmount: z.object({ amount: z.string().regex(/^\d{1,20}$/) }),
    }),
  )
  .nullish()
export type TokenBalances = z.output<typeof TokenBalances>

const Executed = z
  .object({
    meta: z.object({ err: z.unknown(), preTokenBalances: TokenBalances, postTokenBalances: TokenBalances }),
    transaction: z.tuple([z.string(), z.literal('base64')]),
    /** Seconds; nodes forget it after a while. */
    blockTime: z.number().nullish(),
  })
  .nullable()
/** A transaction that a block holds, whether it succeeded or failed. */
export type Executed = NonNullable<z.output<typeof Executed>>

/** Null where the node has no block of that depth with the transaction. */
export function executedOf(
  rpc: SolanaRpc,
  signature: string,
  commitment: SolanaCommitment,
): Promise<z.output<typeof Executed>> {
  const config = { encoding: 'base64', commitment, maxSupportedTransactionVersion: 0 }
  return rpc.ask('getTransaction', [signature, config], Executed)
}

/** Whether it is the very message that the payer has signed. */
export function isOf({ message }: SvmPayment, executed: Executed): boolean {
  const transaction = readTransaction(Buffer.from(executed.transaction[0], 'base64'))
  return transaction !== null && Buffer.from(transaction.message).toString('base64') === message
}
