import { keepMs, resourceRows } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define.ts'
import { chargeOutput, receiptOutput } from '#toolkit/output/receipt.ts'

export default defineResource({
  name: 'receipts',
  title: 'Receipts',
  description: 'The wallet’s newest payments, and the newest charges by services.',
  uri: 'farebox://receipts',
  mimeType: 'application/json',
  needs: ['wallet_receipts'],
  keepMs: keepMs.money,

  async read(context) {
    const payments = (await context.wallet.receipts(resourceRows.shown)).map(receiptOutput)
    const charges = (await context.wallet.charges(resourceRows.shown)).map(chargeOutput)
    return { text: JSON.stringify({ payments, charges }, null, 2) }
  },
})
