import { keepMs, resourceRows } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define.ts'
import { chargeOutput, receiptOutput } from '#toolkit/output/receipt.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'

export default defineResource({
  name: 'receipt',
  title: 'One receipt',
  description: 'A payment by the wallet, or a charge by a service.',
  uri: 'farebox://receipts/{id}',
  mimeType: 'application/json',
  needs: ['wallet_receipts'],
  keepMs: keepMs.money,

  async read(context, id) {
    const found = (await newest(context)).find(row => row.id === id)
    return found ? { text: JSON.stringify(found, null, 2) } : null
  },

  choices: async context => (await newest(context)).map(row => row.id),
})

const newest = async ({ wallet }: ToolContext) => [
  ...(await wallet.receipts(resourceRows.looked)).map(receiptOutput),
  ...(await wallet.charges(resourceRows.looked)).map(chargeOutput),
]
