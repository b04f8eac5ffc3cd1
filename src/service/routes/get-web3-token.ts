import { getWeb3Token } from '#contract/web3-key.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const getWeb3TokenRoute = route(getWeb3Token, async (_call, { web3Keys }) =>
  json({ success: true, data: { token: web3Keys.token() } }),
)
