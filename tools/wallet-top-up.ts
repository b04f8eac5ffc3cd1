import { z } from 'zod'
import { topUpUsd } from '#contract/limits.ts'
import { fromUsdNumber, microUsd } from '#contract/money.ts'
import { defineTool } from '#toolkit/define.ts'
import { paidOutput, paidShape, sayPaid } from '#toolkit/output/paid.ts'
import { ReceiptOutput, receiptOutput, sayReceipt } from '#toolkit/output/receipt.ts'

export default defineTool({
  name: 'wallet_top_up',
  set: 'wallet',
  title: 'Buy credit',
  description: 'Pays USDC for credit at the service, within the caps. Rarely needed: paid tools top up by themselves.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    amount_usd: z.number().min(topUpUsd.minimum).max(topUpUsd.maximum).describe('Credit to buy.'),
    again: z.boolean().optional().describe('true pays again; otherwise a repeat within 10 minutes returns the first.'),
  }),
  output: ReceiptOutput.extend(paidShape),

  async run(context, { amount_usd, again }) {
    // The schema's bounds lie far inside of what is an amount, so the fallback is never taken.
    const amount = fromUsdNumber(amount_usd) ?? microUsd(0)
    const { receipt, paid } = await context.wallet.topUp(amount, { again })
    return { ...receiptOutput(receipt), ...paidOutput(paid) }
  },

  say: output => `${sayReceipt(output)}. ${sayPaid(output)}`,
})
