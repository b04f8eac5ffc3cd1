import { cryptoRpcProxy } from '#contract/crypto-rpc.ts'
import { answerRpc } from '../crypto/answer-rpc.ts'
import { route } from '../route.ts'

export const cryptoRpcProxyRoute = route(cryptoRpcProxy, async (call, service) =>
  answerRpc(call, call.params.network, call.body, service),
)
