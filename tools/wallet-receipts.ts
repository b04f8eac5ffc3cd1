import { z } from 'zod'
import { listRows } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { ReceiptOutput, receiptOutput, sayCharge, sayReceipt } from '#toolkit/output/receipt.ts'

export default defineTool({
  name: 'wallet_receipts',
  set: 'wallet',
  title: 'Payments and charges',
  description:
    'Lists what the wallet paid and what services charged. Use it to explain a cost. For balances and caps, use wallet_status. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    limit: z.number().int().min(1).max(listRows.maximum).default(listRows.default).describe('Rows, newest first.'),
  }),
  app: 'spending',
  output: z.object({ receipts: z.array(ReceiptOutput), charges: z.array(z.string()) }),

  run: async (context, { limit }) => ({
    receipts: (await context.wallet.receipts(limit)).slice(0, limit).map(receiptOutput),
    charges: (await context.wallet.charges(limit)).slice(0, limit).map(sayCharge),
  }),
  say: ({ receipts, charges }) =>
    [
      receipts.length === 0 ? 'The wallet has paid nothing yet.' : 'Payments:',
      ...receipts.map(receipt => `- ${sayReceipt(receipt)}`),
      ...(charges.length === 0 ? [] : ['Charges:', ...charges.map(charge => `- ${charge}`)]),
    ].join('\n'),
})
