import { rpcLimitHeaders } from '#access/limits/limiter.ts'
import { inferenceFailed, rpcCreditsUsed, rpcInFlight } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { retryAfterHeaders } from '#contract/errors/retry-after.ts'
import { addUsd, microUsd, priceLines } from '#contract/money.ts'
import {
  cryptoRpcProxy,
  listCryptoRpcNetworks,
  type RpcCall,
  type RpcRequest,
  type RpcResult,
  rpcCredits,
} from '#contract/operations/rpc.ts'
import { type Clock, dayMs, hourMs } from '#contract/time.ts'
import { rpcCost, rpcRequestId, rpcUsedCredits } from '#contract/wire/headers.ts'
import type { ChainNetwork } from '#engines/ports/engine.ts'
import { boundedWait } from '#host/async.ts'
import { RecentMap } from '#host/recent-map.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Line } from '#ledger/store/units.ts'
import { type Call, type JsonReply, json, principalOf, route } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'

export const listCryptoRpcNetworksRoute = route(listCryptoRpcNetworks, async (_call, { networks }) =>
  json({ networks: networks.map(({ slug }) => slug).sort() }),
)

export const cryptoRpcProxyRoute = route(cryptoRpcProxy, async (call, service) =>
  answerRpc(call, call.params.network, call.body, service),
)

/** Sends one call or a batch to a network's node. A refused call costs less, an unanswered one nothing. */
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
      credits = sum(results.map(({ error }, index) => usedCredits(prices[index] ?? 0, error !== undefined)))
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

/** Throws a 400 for the whole batch if one method is not allowed. */
function creditsOf({ baseCredits = rpcCredits.base }: ChainNetwork, { method }: RpcCall, path: number[]): number {
  const tier = tierOf(method)
  if (tier !== null) return baseCredits * tier
  throw fieldError(
    [...path, 'method'],
    'is not allowed: use a method that reads the chain, or send a signed transaction',
  )
}

/** A refused call never costs more than an answered one, whose price is what was held. */
const usedCredits = (price: number, isRefused: boolean): number =>
  isRefused ? Math.min(price, rpcCredits.errorItem) : price

async function ask({ node, slug }: ChainNetwork, calls: readonly RpcCall[], signal: AbortSignal, service: Service) {
  try {
    const results = await boundedWait(node.ask({ calls, signal }), { signal })
    return results.map((result, index) => withId(result, calls[index]?.id))
  } catch (error) {
    signal.throwIfAborted()
    service.log.warn({ err: error, network: slug }, 'The node of a network did not answer.')
    throw inferenceFailed()
  }
}

/** The node gets ids of ours, because two calls of a batch may share one. */
function withId({ id: _ours, ...result }: RpcResult, id: RpcCall['id']): RpcResult {
  return { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), ...result }
}

function linesOf(credits: number): Line[] {
  const priced = { units: BigInt(credits), unitPricePicoUsd: rpcCredits.picoUsd }
  return priceLines([priced]).map(amount => ({ ...priced, sku: rpcSku, amount: microUsd(amount) }))
}

/** A multiple of the base price that reflects how much work a call is for a node. */
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
 * All allowed methods. Others never reach a node: those that use its keys, administer or debug it, or make it keep
 * state for a caller.
 */
const tiers: ReadonlyMap<string, RpcTier> = new Map<string, RpcTier>([
  ...ordinary.map(method => [method, 1] as const),
  ...large.map(method => [method, 2] as const),
  ...traces.map(method => [method, 4] as const),
])

/** Returns null for a method that is not allowed. */
const tierOf = (method: string): RpcTier | null => tiers.get(method) ?? null

const rpcSku = 'crypto.rpc'

interface Used {
  credits: number
  readAtMs: number
}

/** Limits an account to one call at a time and to its credits in 24 hours (published contract §11.4). */
export class RpcGate {
  readonly #store: Store
  readonly #clock: Clock
  readonly #busy = new Set<string>()
  readonly #used = new RecentMap<Used>(countedAccounts)

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /**
   * Runs a call that costs at most `most` credits and counts its actual cost. Throws 429 `rpcInFlight`,
   * `rpcCreditsUsed`.
   */
  async pass<Value>(
    account: string,
    most: number,
    run: () => Promise<{ value: Value; credits: number }>,
  ): Promise<Value> {
    const nowMs = this.#clock.now()
    if (this.#busy.has(account)) throw rpcInFlight(retryHeaders(1, nowMs + inFlightRetryMs, nowMs))
    this.#busy.add(account)
    try {
      const used = await this.#usedBy(account, nowMs)
      // Credits expire one by one after a day, so some become free within the hour.
      if (used.credits + most > rpcCredits.aDay)
        throw rpcCreditsUsed(retryHeaders(rpcCredits.aDay, nowMs + hourMs, nowMs))
      const { value, credits } = await run()
      used.credits += credits
      return value
    } finally {
      this.#busy.delete(account)
    }
  }

  async #usedBy(account: string, nowMs: number): Promise<Used> {
    const known = this.#used.get(account)
    if (known && nowMs - known.readAtMs < creditsKnownMs) return known
    const rows = await this.#store.read
      .selectFrom('entry')
      .select('units')
      .where('account', '=', account)
      .where('sku', '=', rpcSku)
      .where('created_at_ms', '>', nowMs - dayMs)
      .execute()
    const used = { credits: rows.reduce((sum, { units }) => sum + Number(units ?? 0), 0), readAtMs: nowMs }
    this.#used.set(account, used)
    return used
  }
}

const retryHeaders = (limit: number, untilMs: number, nowMs: number) => ({
  ...retryAfterHeaders(untilMs, nowMs, 'user'),
  ...rpcLimitHeaders({ limit, remaining: 0, resetMs: untilMs }),
})

const slugPattern = /^[a-z0-9][a-z0-9-]{0,63}$/

/** Returns the same networks. Throws if two share a name, or a name cannot be part of a path. */
export function checkNetworks(networks: readonly ChainNetwork[]): readonly ChainNetwork[] {
  if (networks.length > networkCount) throw new Error(`A service has at most ${networkCount} networks.`)
  for (const { slug } of networks) {
    if (!slugPattern.test(slug))
      throw new Error(`${JSON.stringify(slug)} cannot name a network: write it as base-mainnet.`)
  }
  if (new Set(networks.map(({ slug }) => slug)).size < networks.length) throw new Error('Two networks share a name.')
  return networks
}

/** Maximum number of networks of a service. */
export const networkCount = 100

/** An account's credits are reread from the ledger after this time, because other processes charge it too. */
const creditsKnownMs = 60_000

/** Accounts whose credits of the day are cached. */
const countedAccounts = 10_000

/** Retry delay while another call of the account is in flight: nodes answer within a second. */
const inFlightRetryMs = 1_000
