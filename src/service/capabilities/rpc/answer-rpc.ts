import { inferenceFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { addUsd, microUsd, priceLines } from '#contract/money.ts'
import { type RpcCall, type RpcRequest, type RpcResult, rpcCredits } from '#contract/operations/rpc.ts'
import { rpcCost, rpcRequestId, rpcUsedCredits } from '#contract/wire/headers.ts'
import type { ChainNetwork } from '#engines/ports/engine.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import type { Line } from '#ledger/store/units.ts'
import { type Call, type JsonReply, json, principalOf } from '../../http/call.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { rpcSku } from './rpc-gate.ts'
import { tierOf } from './rpc-methods.ts'

/** One call or a batch to a network's node. What the node refuses costs less, what it does not answer nothing. */
export async function answerRpc(call: Call, network: string, body: RpcRequest, service: Service): Promise<JsonReply> {
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
    known ? `is none of this service; it has ${known}` : 'is none: this service has no networks',
  )
}

/** Throws a 400 for the whole batch where one method is none that a node is asked. */
function creditsOf({ baseCredits = rpcCredits.base }: ChainNetwork, { method }: RpcCall, path: number[]): number {
  const tier = tierOf(method)
  if (tier !== null) return baseCredits * tier
  throw fieldError(
    [...path, 'method'],
    'is none that is taken here: ask for what can be read of a chain, or send a signed transaction',
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

/** The node was asked under ids of ours, so that no two calls of a batch share one. */
function withId({ id: _ours, ...result }: RpcResult, id: RpcCall['id']): RpcResult {
  return { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), ...result }
}

function linesOf(credits: number): Line[] {
  const priced = { units: BigInt(credits), unitPricePicoUsd: rpcCredits.picoUsd }
  return priceLines([priced]).map(amount => ({ ...priced, sku: rpcSku, amount: microUsd(amount) }))
}
