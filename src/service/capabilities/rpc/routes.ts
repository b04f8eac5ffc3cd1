import { inferenceFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { addUsd, microUsd, priceLines } from '#contract/money.ts'
import {
  cryptoRpcProxy,
  listCryptoRpcNetworks,
  type RpcCall,
  type RpcRequest,
  type RpcResult,
  rpcCredits,
} from '#contract/operations/rpc.ts'
import { rpcCost, rpcRequestId, rpcUsedCredits } from '#contract/wire/headers.ts'
import type { ChainNetwork } from '#engines/ports/engine.ts'
import { boundedWait } from '#host/async.ts'
import type { Line } from '#ledger/store/units.ts'
import { type Call, type JsonReply, json, principalOf, route } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { rpcSku } from './rpc-gate.ts'

export const listCryptoRpcNetworksRoute = route(listCryptoRpcNetworks, async (_call, { networks }) =>
  json({ networks: networks.map(({ slug }) => slug).sort() }),
)

export const cryptoRpcProxyRoute = route(cryptoRpcProxy, async (call, service) =>
  answerRpc(call, call.params.network, call.body, service),
)

/** One call or a batch to a network's node. A refused call costs less, an unanswered one nothing. */
async function answerRpc(call: Call, network: string, body: RpcRequest, service: Service): Promise<JsonReply> {
  const chain = networkOf(service.networks, network)
  const calls = Array.isArray(body) ? body : [body]
  const prices = calls.map((each, index) => creditsOf(chain, each, Array.isArray(body) ? [index] : []))
  const most = sum(prices)
  return service.rpcGate.pass(principalOf(call).account, most, async () => {
    let credits = 0
    const sale = { model: null, amount: addUsd(...linesOf(most).map(line => line.amount)) }
    const value = await sell(call, sale, service, async () => {
      const results = await ask(chain, calls, call.signal, service)
      credits = sum(
        results.map(({ error }, index) => (error === undefined ? (prices[index] ?? 0) : rpcCredits.errorItem)),
      )
      const [first] = results
      const reply = json(Array.isArray(body) ? results : first)
      call.set(rpcUsedCredits, credits)
      call.set(rpcCost, BigInt(credits) * rpcCredits.picoUsd)
      call.set(rpcRequestId, call.requestId.replaceAll('-', ''))
      return { value: reply, lines: linesOf(credits), alsoCommit: () => call.keep(() => reply) }
    })
    return { value, credits }
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

function networkOf(networks: readonly ChainNetwork[], slug: string): ChainNetwork {
  const found = networks.find(each => each.slug === slug)
  if (found) return found
  const known = networks.map(each => each.slug).join(', ')
  throw fieldError(
    ['network'],
    known
      ? `is not supported by this service; allowed values: ${known}`
      : 'is not supported: this service has no networks',
  )
}

/** Throws a 400 for the whole batch when one method is not allowed. */
function creditsOf({ baseCredits = rpcCredits.base }: ChainNetwork, { method }: RpcCall, path: number[]): number {
  const tier = tierOf(method)
  if (tier !== null) return baseCredits * tier
  throw fieldError(
    [...path, 'method'],
    'is not allowed here: use a method that reads the chain, or send a signed transaction',
  )
}

async function ask({ node, slug }: ChainNetwork, calls: readonly RpcCall[], signal: AbortSignal, service: Service) {
  try {
    const results = await boundedWait(node.ask({ calls, signal }), { signal })
    return results.map((result, index) => withId(result, calls[index]?.id))
  } catch (error) {
    signal.throwIfAborted()
    service.log.warn({ err: error, network: slug }, 'The node of a network gave no answer.')
    throw inferenceFailed()
  }
}

/** The node got ids of ours, because two calls of a batch may share one. */
function withId({ id: _ours, ...result }: RpcResult, id: RpcCall['id']): RpcResult {
  return { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), ...result }
}

function linesOf(credits: number): Line[] {
  const priced = { units: BigInt(credits), unitPricePicoUsd: rpcCredits.picoUsd }
  return priceLines([priced]).map(amount => ({ ...priced, sku: rpcSku, amount: microUsd(amount) }))
}

/** Times the base price, by how much work a call is for a node. */
type RpcTier = 1 | 2 | 4

const ordinary = [
  ...['eth_blockNumber', 'eth_chainId', 'eth_syncing', 'eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_blobBaseFee'],
  ...['eth_feeHistory', 'eth_getBalance', 'eth_getCode', 'eth_getStorageAt', 'eth_getTransactionCount'],
  ...['eth_getBlockByHash', 'eth_getBlockByNumber', 'eth_getBlockTransactionCountByHash'],
  ...['eth_getBlockTransactionCountByNumber', 'eth_getUncleByBlockHashAndIndex', 'eth_getUncleByBlockNumberAndIndex'],
  ...['eth_getUncleCountByBlockHash', 'eth_getUncleCountByBlockNumber', 'eth_getTransactionByHash'],
  ...['eth_getTransactionByBlockHashAndIndex', 'eth_getTransactionByBlockNumberAndIndex', 'eth_getTransactionReceipt'],
  ...['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction', 'net_version', 'web3_clientVersion', 'web3_sha3'],
]
const large = ['eth_getLogs', 'eth_getBlockReceipts', 'eth_getProof', 'eth_createAccessList']
const traces = ['trace_block', 'trace_call', 'trace_filter', 'trace_get', 'trace_transaction']

/**
 * All methods that a node is asked. What is not here never reaches one: keys of the node, its administration, its debugger,
 * and what it would have to remember for a caller.
 */
const tiers: ReadonlyMap<string, RpcTier> = new Map<string, RpcTier>([
  ...ordinary.map(method => [method, 1] as const),
  ...large.map(method => [method, 2] as const),
  ...traces.map(method => [method, 4] as const),
])

/** Null for a method that is not allowed. */
const tierOf = (method: string): RpcTier | null => tiers.get(method) ?? null
