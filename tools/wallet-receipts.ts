import { z } from 'zod'
import { listRows } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define-tool.ts'
import { ReceiptOutput, receiptOutput, sayReceipt } from '#toolkit/receipt-output.ts'

export default defineTool({
  name: 'wallet_receipts',
  title: 'Payments of the wallet',
  description: 'What the wallet paid and for what, newest first. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ limit: z.number().int().min(1).max(listRows.maximum).default(listRows.default) }),
  output: z.object({ receipts: z.array(ReceiptOutput) }),

  run: async (context, { limit }) => ({
    receipts: (await context.wallet.receipts(limit)).slice(0, limit).map(receiptOutput),
  }),
  say: ({ receipts }) =>
    receipts.length === 0
      ? 'The wallet has paid nothing yet.'
      : receipts.map(receipt => `- ${sayReceipt(receipt)}`).join('\n'),
})
