import { z } from 'zod'
import { topUpUsd } from '#contract/limits.ts'
import { displayUsd, fromUsdNumber, microUsd } from '#contract/money.ts'
import { defineTool } from '#toolkit/define.ts'
import { paidOutput, paidShape, sayPaid } from '#toolkit/output/paid.ts'
import { ReceiptOutput, receiptOutput, sayReceipt } from '#toolkit/output/receipt.ts'

export default defineTool({
  name: 'wallet_top_up',
  set: 'wallet',
  title: 'Buy credit',
  description:
    'Pays USDC for credit at the service, within the caps. Use it only if the user wants credit in advance: paid tools top up automatically.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    amount_usd: z.number().min(topUpUsd.minimum).max(topUpUsd.maximum).describe('Credit to buy.'),
    again: z.boolean().optional().describe('true pays again; otherwise a repeat within 10 minutes returns the first.'),
  }),
  app: 'approval',
  output: ReceiptOutput.extend(paidShape),

  async run(context, { amount_usd, again }) {
    // The schema's limits are far inside the range of amounts, so the fallback is never used.
    const amount = fromUsdNumber(amount_usd) ?? microUsd(0)
    context.report({ message: `Topping up ${displayUsd(amount)}, if the caps allow it` })
    const { receipt, paid } = await context.wallet.topUp(amount, { again })
    return { ...receiptOutput(receipt), ...paidOutput(paid) }
  },

  say: output => `${sayReceipt(output)}. ${sayPaid(output, 'Paid')}`,
})
