import { createWeb3Key } from '#contract/web3-key.ts'
import { json } from '../call.ts'
import { createdKey } from '../identity/key-order.ts'
import { route } from '../route.ts'

export const createWeb3KeyRoute = route(createWeb3Key, async (call, { web3Keys }) =>
  json(createdKey(await web3Keys.create(call.body))),
)
