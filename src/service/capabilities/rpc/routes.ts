import { cryptoRpcProxy, listCryptoRpcNetworks } from '#contract/operations/rpc.ts'
import { json } from '../../http/call.ts'
import { route } from '../../http/route.ts'
import { answerRpc } from './answer-rpc.ts'

export const listCryptoRpcNetworksRoute = route(listCryptoRpcNetworks, async (_call, { networks }) =>
  json({ networks: networks.map(({ slug }) => slug).sort() }),
)

export const cryptoRpcProxyRoute = route(cryptoRpcProxy, async (call, service) =>
  answerRpc(call, call.params.network, call.body, service),
)
