import { getReceipt } from '#contract/receipts.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'

export const getReceiptRoute = route(getReceipt, async (call, service) =>
  json(await service.receipts.of(principalOf(call).account, call.params.request)),
)
