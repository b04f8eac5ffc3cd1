import { z } from 'zod'

const TokenBalance = z.object({
  accountIndex: z.number(),
  mint: z.string(),
  owner: z.string(),
  programId: z.string(),
  uiTokenAmount: z.object({
    amount: z.string(),
    decimals: z.number(),
    uiAmount: z.number(),
    uiAmountString: z.string(),
  }),
})
export type TokenBalance = z.output<typeof TokenBalance>

/** A transaction that is in a block, whether it succeeded or not. */
export const Executed = z.object({
  signature: z.string(),
  slot: z.number(),
  height: z.number(),
  atSeconds: z.number(),
  /** Base64 of all of it. */
  transaction: z.string(),
  accounts: z.array(z.string()),
  err: z.union([z.null(), z.string(), z.record(z.string(), z.unknown())]),
  fee: z.number(),
  units: z.number(),
  logs: z.array(z.string()),
  preBalances: z.array(z.number()),
  postBalances: z.array(z.number()),
  preTokenBalances: z.array(TokenBalance),
  postTokenBalances: z.array(TokenBalance),
})
export type Executed = z.output<typeof Executed>
