import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { encodeBase58 } from '#contract/wire/base58.ts'
import {
  chainAttemptMs,
  chainAttempts,
  chainClockMs,
  chainRetryMs,
  chainWindowBlocks,
  listedSignatures,
} from '../bounds.ts'

/** Where one rail's payments go. */
export interface Payee {
  /** CAIP-2. */
  network: string
  asset: string
  /** The address whose transfers the chain lists: the payee's, or its token account. */
  account: string
}

export interface Transfer {
  transaction: string
  /** Base units of USDC, which are micro-USD. */
  amount: bigint
  /** Returns the key of this transfer's payment in the ledger; null if it cannot be a payment. */
  paymentKey(): Promise<string | null>
}

/** The transfers that a payee received according to its chain. Each rail has one. */
export interface TransferSource {
  /** Returns every transfer since that time that is now on the chain; may include earlier ones. */
  transfers(payee: Payee, sinceMs: number): AsyncIterable<Transfer>
}

/** A node gave no valid answer. The message contains neither its address nor its answer. */
export class NodeFailed extends Error {
  /** Whether the node answered and refused the request. */
  readonly refused: boolean
  /** The code of its refusal; null if it gave none. */
  readonly code: number | null

  constructor(message: string, refused: boolean, options?: ErrorOptions & { code?: number }) {
    super(message, options)
    this.name = 'NodeFailed'
    this.refused = refused
    this.code = options?.code ?? null
  }
}

const Answer = z.object({ result: z.unknown().optional(), error: z.object({ code: z.number() }).optional() })

/** Calls a node over JSON-RPC; unanswered calls are retried with growing pauses. */
async function askNode<Result>(
  url: string,
  method: string,
  params: readonly unknown[],
  result: z.ZodType<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(url, method, params, result)
    } catch (error) {
      const refused = error instanceof NodeFailed && error.refused
      if (refused || attempt === chainAttempts) throw asFailure(error, method)
      await sleep(chainRetryMs * 2 ** (attempt - 1))
    }
  }
}

const asFailure = (error: unknown, method: string): NodeFailed =>
  error instanceof NodeFailed ? error : new NodeFailed(`The node does not answer ${method}.`, false, { cause: error })

async function askOnce<Result>(url: string, method: string, params: readonly unknown[], result: z.ZodType<Result>) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'error',
    signal: AbortSignal.timeout(chainAttemptMs),
  })
  const answer = Answer.safeParse(await response.json())
  const code = answer.data?.error?.code
  if (code !== undefined) throw new NodeFailed(`The node refuses ${method} (${code}).`, true, { code })
  if (!response.ok || !answer.success) throw new NodeFailed(`The node does not answer ${method}.`, false)
  return result.parse(answer.data.result)
}

/** keccak256 of `Transfer(address,address,uint256)` and of `AuthorizationUsed(address,bytes32)`. */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'

const Quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/i)
  .transform(BigInt)
const Hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .transform(text => text.toLowerCase())
const Log = z.object({
  address: z.string().transform(text => text.toLowerCase()),
  topics: z.array(Hash),
  data: z.string(),
  transactionHash: Hash,
  logIndex: Quantity,
})
type Log = z.output<typeof Log>
const Block = z.object({ timestamp: Quantity })
const Receipt = z.object({ logs: z.array(Log) }).nullable()

/** Reads transfers of a token on an EVM chain from its events. */
export function evmTransfers(rpcUrl: string): TransferSource {
  const ask = <Result>(method: string, params: readonly unknown[], result: z.ZodType<Result>) =>
    askNode(rpcUrl, method, params, result)

  /** Returns the first block at or after that time. */
  async function blockAt(sinceMs: number, head: bigint): Promise<bigint> {
    let [low, high] = [0n, head]
    while (low < high) {
      const middle = (low + high) / 2n
      const { timestamp } = await ask('eth_getBlockByNumber', [hex(middle), false], Block)
      if (timestamp * 1000n < BigInt(sinceMs)) low = middle + 1n
      else high = middle
    }
    return low
  }

  /** Nodes limit answers by blocks or rows and report this in many ways, so a refused range is split in half. */
  async function* logsBetween(payee: Payee, from: bigint, to: bigint): AsyncGenerator<Log> {
    const topics = [transferTopic, null, `0x${payee.account.slice(2).toLowerCase().padStart(64, '0')}`]
    const filter = { address: payee.asset, topics, fromBlock: hex(from), toBlock: hex(to) }
    const logs = await ask('eth_getLogs', [filter], z.array(Log)).catch(error => {
      if (error instanceof NodeFailed && error.refused && from < to) return null
      throw error
    })
    if (logs) return yield* logs
    const middle = (from + to) / 2n
    yield* logsBetween(payee, from, middle)
    yield* logsBetween(payee, middle + 1n, to)
  }

  /** The token emits `AuthorizationUsed` directly before the `Transfer` of that authorization. */
  async function paymentKey({ network, asset }: Payee, log: Log): Promise<string | null> {
    const receipt = await ask('eth_getTransactionReceipt', [log.transactionHash], Receipt)
    const logs = (receipt?.logs ?? []).filter(each => each.address === asset.toLowerCase())
    const before = logs[logs.findIndex(each => each.logIndex === log.logIndex) - 1]
    const [event, from, nonce] = before?.topics ?? []
    if (event !== usedTopic || from === undefined || nonce === undefined || from !== log.topics[1]) return null
    const chainId = network.slice(network.indexOf(':') + 1)
    return `evm:${chainId}:${asset}:0x${from.slice(-40)}:${nonce}`.toLowerCase()
  }

  return {
    async *transfers(payee, sinceMs) {
      const chainId = await ask('eth_chainId', [], Quantity)
      if (payee.network !== `eip155:${chainId}`) {
        throw new NodeFailed(`The node serves the chain eip155:${chainId}, not ${payee.network}.`, true)
      }
      const head = await ask('eth_blockNumber', [], Quantity)
      for (let from = await blockAt(sinceMs - chainClockMs, head); from <= head; from += chainWindowBlocks) {
        const last = from + chainWindowBlocks - 1n
        for await (const log of logsBetween(payee, from, last < head ? last : head)) {
          const key = () => paymentKey(payee, log)
          yield { transaction: log.transactionHash, amount: BigInt(log.data), paymentKey: key } satisfies Transfer
        }
      }
    },
  }
}

const hex = (value: bigint): string => `0x${value.toString(16)}`

const Listed = z.array(z.object({ signature: z.string(), err: z.unknown(), blockTime: z.number().nullish() }))
const Balances = z
  .array(
    z.object({
      accountIndex: z.number(),
      mint: z.string(),
      uiTokenAmount: z.object({ amount: z.string().regex(/^\d{1,20}$/) }),
    }),
  )
  .nullish()
const Loaded = z.object({ writable: z.array(z.string()), readonly: z.array(z.string()) }).nullish()
const Meta = z.object({ preTokenBalances: Balances, postTokenBalances: Balances, loadedAddresses: Loaded })
const Executed = z.object({ meta: Meta, transaction: z.tuple([z.string(), z.literal('base64')]) }).nullable()
const Later = z
  .object({
    meta: Meta,
    transaction: z.object({ message: z.object({ accountKeys: z.array(z.string()) }) }),
  })
  .nullable()

/** A node's code for a transaction of a later version than was asked for. */
const laterVersion = -32015

const notHad = () => new NodeFailed('The node lists a transaction that it does not have.', true)

/** Required finality: blocks that two thirds of the stake have confirmed. */
const commitment = 'confirmed'

/** Reads transfers to a token account on Solana from the transactions that name it. */
export function svmTransfers(rpcUrl: string): TransferSource {
  const ask = <Result>(method: string, params: readonly unknown[], result: z.ZodType<Result>) =>
    askNode(rpcUrl, method, params, result)

  async function* signatures(account: string, sinceMs: number): AsyncGenerator<string> {
    for (let before: string | undefined; ; ) {
      const config = { limit: listedSignatures, commitment, ...(before === undefined ? {} : { before }) }
      const listed = await ask('getSignaturesForAddress', [account, config], Listed)
      for (const { signature, err } of listed) if (err === null) yield signature
      const last = listed.at(-1)
      // Newest first, and not every node knows the time of every block.
      const isOlder = last?.blockTime != null && last.blockTime * 1000 < sinceMs - chainClockMs
      if (!last || isOlder || listed.length < listedSignatures) return
      before = last.signature
    }
  }

  /** What the account received, and what was signed; null for a later version than a payment can have. */
  async function readTransaction(payee: Payee, signature: string): Promise<{ amount: bigint; message: Buffer | null }> {
    try {
      const config = { encoding: 'base64', commitment, maxSupportedTransactionVersion: 0 }
      const executed = await ask('getTransaction', [signature, config], Executed)
      if (!executed) throw notHad()
      const message = messageOf(Buffer.from(executed.transaction[0], 'base64'))
      return { amount: received(payee, executed.meta, accountsOf(message)), message }
    } catch (error) {
      if (!(error instanceof NodeFailed) || error.code !== laterVersion) throw error
      const config = { encoding: 'json', commitment, maxSupportedTransactionVersion: 255 }
      const executed = await ask('getTransaction', [signature, config], Later)
      if (!executed) throw notHad()
      return { amount: received(payee, executed.meta, executed.transaction.message.accountKeys), message: null }
    }
  }

  return {
    async *transfers(payee, sinceMs) {
      for await (const signature of signatures(payee.account, sinceMs)) {
        const { amount, message } = await readTransaction(payee, signature)
        // Outgoing transfers name the account too.
        if (amount <= 0n) continue
        const hash = message && createHash('sha256').update(message).digest('hex')
        yield { transaction: signature, amount, paymentKey: async () => hash && `svm:${payee.network}:${hash}` }
      }
    },
  }
}

const signatureBytes = 64
const keyBytes = 32

/** The signed part: everything after the signatures. */
function messageOf(transaction: Buffer): Buffer {
  const [count, start] = shortNumber(transaction, 0)
  return transaction.subarray(start + count * signatureBytes)
}

/** Returns how much the token account's balance rose. */
function received({ account, asset }: Payee, meta: z.output<typeof Meta>, accounts: readonly string[]): bigint {
  const { writable = [], readonly = [] } = meta.loadedAddresses ?? {}
  const place = [...accounts, ...writable, ...readonly].indexOf(account)
  const amountIn = (balances: z.output<typeof Balances>) =>
    BigInt(
      balances?.find(({ accountIndex, mint }) => accountIndex === place && mint === asset)?.uiTokenAmount.amount ?? 0,
    )
  return amountIn(meta.postTokenBalances) - amountIn(meta.preTokenBalances)
}

/** A versioned message has an extra first byte above 127; both forms continue with the three header bytes. */
function accountsOf(message: Buffer): string[] {
  const header = (message[0] ?? 0) > 127 ? 1 : 0
  const [count, start] = shortNumber(message, header + 3)
  const at = (place: number) => start + place * keyBytes
  return Array.from({ length: count }, (_, place) => encodeBase58(message.subarray(at(place), at(place + 1))))
}

/**
 * Reads Solana's compact numbers: seven bits per byte, lowest first, at most three bytes. Returns the position after
 * it.
 */
function shortNumber(bytes: Buffer, start: number): [value: number, next: number] {
  let value = 0
  for (let place = 0; place < 3; place++) {
    const byte = bytes[start + place] ?? 0
    value |= (byte & 127) << (7 * place)
    if (byte < 128) return [value, start + place + 1]
  }
  return [value, start + 3]
}
