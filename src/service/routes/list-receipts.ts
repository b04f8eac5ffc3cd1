import { listReceipts } from '#contract/receipts.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'

export const listReceiptsRoute = route(listReceipts, async (call, service) =>
  json(await service.receipts.list(principalOf(call).account, call.query)),
)
