import { getReceiptKeys } from '#contract/receipts.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const getReceiptKeysRoute = route(getReceiptKeys, async (_call, service) => json(await service.receipts.keys()))
