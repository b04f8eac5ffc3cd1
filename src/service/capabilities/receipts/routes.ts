import { getReceipt, getReceiptKeys, listReceipts } from '#contract/operations/receipts.ts'
import { json, principalOf, route } from '../../http/route.ts'

export const getReceiptRoute = route(getReceipt, async (call, service) =>
  json(await service.receipts.of(principalOf(call).account, call.params.request)),
)

export const getReceiptKeysRoute = route(getReceiptKeys, async (_call, service) => json(await service.receipts.keys()))

export const listReceiptsRoute = route(listReceipts, async (call, service) =>
  json(await service.receipts.list(principalOf(call).account, call.query)),
)
