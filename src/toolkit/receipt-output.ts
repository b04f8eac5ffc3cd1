import { z } from 'zod'
import { toUsdNumber } from '#contract/money.ts'
import { networkName } from '#contract/wire/networks.ts'
import { strangeId } from './from-outside.ts'
import { isoTime, sayUsd } from './say-amount.ts'
import type { Receipt } from './tool-context.ts'

/** A payment of the wallet as tools show it. */
export const ReceiptOutput = z.object({
  id: z.string(),
  at: z.string(),
  /** As the journal names it; not spelled out, as every assistant reads the list of tools. */
  state: z.string(),
  amount_usd: z.number(),
  network: z.string(),
  pay_to: z.string(),
  transaction: z.string().nullable(),
  purpose: z.string(),
})
export type ReceiptOutput = z.output<typeof ReceiptOutput>

export const receiptOutput = (receipt: Receipt): ReceiptOutput => ({
  id: strangeId(receipt.id),
  at: isoTime(receipt.atMs),
  state: receipt.state,
  amount_usd: toUsdNumber(receipt.amountMicroUsd),
  network: strangeId(receipt.network),
  pay_to: strangeId(receipt.payTo),
  transaction: receipt.transaction && strangeId(receipt.transaction),
  purpose: receipt.purpose,
})

export const sayReceipt = (receipt: ReceiptOutput): string =>
  `${receipt.at}: ${sayUsd(receipt.amount_usd)} to ${receipt.pay_to} on ${networkName(receipt.network)}, ${receipt.state}, for ${receipt.purpose}${receipt.transaction ? `; transaction ${receipt.transaction}` : ''}`
