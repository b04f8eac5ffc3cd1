import { listCryptoRpcNetworks } from '#contract/crypto-rpc.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const listCryptoRpcNetworksRoute = route(listCryptoRpcNetworks, async (_call, { networks }) =>
  json({ networks: networks.map(({ slug }) => slug).sort() }),
)
