import type { Log, PublicClient, TransactionReceipt } from 'viem'
import { microUsd } from '#contract/money.ts'
import {
  leastLogWindowBlocks,
  logWindowBlocks,
  logWindows,
  mostConfirmations,
  rpcRetries,
  rpcTimeoutMs,
  smallLogWindows,
} from '../bounds.ts'
import { ChainUnavailable, type OnChain, type PaymentChain } from '../payment/payment.ts'
import type { EvmPayment } from './evm-rail.ts'

const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** keccak256 of `AuthorizationUsed(address,bytes32)` and `AuthorizationCanceled(address,bytes32)` (EIP-3009). */
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const canceledTopic = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'

const authorizationState = [
  {
    type: 'function',
    name: 'authorizationState',
    stateMutability: 'view',
    inputs: [
      { name: 'authorizer', type: 'address' },
      { name: 'nonce', type: 'bytes32' },
    ],
    outputs: [{ name: '', type: 'bool' }],
  },
] as const

type Hex = `0x${string}`
type Landing = Extract<OnChain, { state: 'landed' }>

interface Head {
  number: bigint
  timestamp: bigint
}

/** Whether the nonce of a payment was used or cancelled, as of a block or now. */
export const isNonceUsed = (
  client: Pick<PublicClient, 'readContract'>,
  { option, authorization }: EvmPayment,
  blockNumber?: bigint,
): Promise<boolean> =>
  client.readContract({
    address: option.asset as Hex,
    abi: authorizationState,
    functionName: 'authorizationState',
    args: [authorization.from as Hex, authorization.nonce as Hex],
    ...(blockNumber === undefined ? {} : { blockNumber }),
  })

export interface EvmPaymentChainOptions {
  rpcUrl: string
  /**
   * Blocks that must follow a payment's block before it counts, because a chain may drop its newest ones; 0 for a chain
   * that never does.
   */
  confirmations: number
}

/** Reads EIP-3009 payments from a node. Sends nothing to the network until first used. */
export async function openEvmPaymentChain({
  rpcUrl,
  confirmations,
}: EvmPaymentChainOptions): Promise<PaymentChain<EvmPayment>> {
  if (!Number.isSafeInteger(confirmations) || confirmations < 0 || confirmations > mostConfirmations) {
    throw new Error(`\`confirmations\` must be a whole number of blocks from 0 to ${mostConfirmations}.`)
  }
  const { createPublicClient, http } = await import('viem')
  const transport = http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: rpcRetries })
  return new EvmPaymentChain(createPublicClient({ transport }), BigInt(confirmations))
}

class EvmPaymentChain implements PaymentChain<EvmPayment> {
  readonly #client: PublicClient
  readonly #confirmations: bigint

  constructor(client: PublicClient, confirmations: bigint) {
    this.#client = client
    this.#confirmations = confirmations
  }

  async find(payment: EvmPayment, transaction: string | null): Promise<OnChain> {
    try {
      const [receipt, head] = transaction === null ? [null, 0n] : await this.#receiptAndHead(transaction as Hex)
      const landing = receipt && landingIn(receipt, payment)
      if (!landing) return await this.#findNonce(payment)
      return this.#isDeep(receipt.blockNumber, head) ? await this.#timed(landing, receipt) : { state: 'unconfirmed' }
    } catch (cause) {
      throw new ChainUnavailable('The node did not report the outcome of the payment.', { cause })
    }
  }

  /**
   * The chain's head is requested only where it decides. A head that is older than the receipt makes the payment wait,
   * never count early.
   */
  #receiptAndHead(transaction: Hex): Promise<[TransactionReceipt | null, bigint]> {
    const head = this.#confirmations === 0n ? 0n : this.#client.getBlockNumber({ cacheTime: 0 })
    return Promise.all([this.#receiptOf(transaction), head])
  }

  /** Many nodes say in each event when its block was made. */
  async #timed(landing: Landing, { blockHash, logs }: TransactionReceipt): Promise<Landing> {
    const blockTimestamp = logs[0]?.blockTimestamp
    if (blockTimestamp) return { ...landing, atSeconds: Number(blockTimestamp) }
    const { timestamp } = await this.#client.getBlock({ blockHash })
    return { ...landing, atSeconds: Number(timestamp) }
  }

  /** If no confirmations are required, a node that is a block behind another must not make the payment wait. */
  #isDeep(blockNumber: bigint, head: bigint): boolean {
    return this.#confirmations === 0n || head - blockNumber >= this.#confirmations
  }

  /**
   * A nonce that is unused at the head was also unused before it; the reported time is that of a block that will not be
   * dropped.
   */
  async #findNonce(payment: EvmPayment): Promise<OnChain> {
    const block = await this.#client.getBlock({ blockTag: 'latest' })
    const isUsed = await isNonceUsed(this.#client, payment, block.number)
    if (!isUsed) return { state: 'open', chainTimeSeconds: await this.#lastingTime(block) }
    return this.#searchBackwards(payment, block)
  }

  async #lastingTime(head: Head): Promise<number> {
    if (this.#confirmations === 0n) return Number(head.timestamp)
    const deep = head.number - this.#confirmations
    const block = await this.#client.getBlock({ blockNumber: deep < 0n ? 0n : deep })
    return Number(block.timestamp)
  }

  async #searchBackwards(payment: EvmPayment, head: Head): Promise<OnChain> {
    const allowed = { window: logWindowBlocks }
    const log =
      (await this.#eventUpTo(head.number, payment, allowed)) ?? (await this.#eventBeforeEnd(head, payment, allowed))
    if (!log) throw new Error('The nonce is used, but the node has no event for it in the blocks that were searched.')
    if (!this.#isDeep(BigInt(log.blockNumber ?? head.number), head.number)) return { state: 'unconfirmed' }
    if (log.topics[0] === canceledTopic) return { state: 'void' }
    const receipt = log.transactionHash && (await this.#receiptOf(log.transactionHash))
    // Nodes behind one address can differ. Without the receipt we cannot conclude that nothing landed.
    if (!receipt) throw new Error('The node has the event for the nonce, but not yet the receipt of its transaction.')
    const landing = landingIn(receipt, payment)
    return landing ? this.#timed(landing, receipt) : { state: 'void' }
  }

  /** Null if the searched blocks do not have it. */
  async #eventUpTo(newest: bigint, payment: EvmPayment, allowed: Allowed): Promise<Log | null> {
    for (let to = newest, asked = 0; to >= 0n && asked < requestsAtMost(allowed); asked++) {
      const from = to < allowed.window ? 0n : to - allowed.window + 1n
      const found = await this.#usedBetween(payment, from, to).catch(error => narrow(allowed, error))
      if (found === 'refused') continue
      if (found) return found
      to = from - 1n
    }
    return null
  }

  /** Small windows do not reach from the head to a payment that is long over. */
  async #eventBeforeEnd(head: Head, payment: EvmPayment, allowed: Allowed): Promise<Log | null> {
    const end = BigInt(payment.authorization.validBefore)
    if (allowed.window === logWindowBlocks || head.timestamp < end) return null
    return this.#eventUpTo(await this.#lastBefore(end, head.number), payment, allowed)
  }

  /** Returns the last block before this time, which the head is not, in some twenty requests. */
  async #lastBefore(seconds: bigint, head: bigint): Promise<bigint> {
    const isLate = async (blockNumber: bigint) => (await this.#client.getBlock({ blockNumber })).timestamp >= seconds
    let [early, late] = [head, head]
    for (let step = 1n; early > 0n && (early === late || (await isLate(early))); step *= 2n) {
      late = early
      early = early > step ? early - step : 0n
    }
    while (late - early > 1n) {
      const middle = (early + late) / 2n
      if (await isLate(middle)) late = middle
      else early = middle
    }
    return early
  }

  async #usedBetween({ option, authorization }: EvmPayment, from: bigint, to: bigint): Promise<Log | undefined> {
    const [log] = await this.#client.request({
      method: 'eth_getLogs',
      params: [
        {
          address: option.asset as Hex,
          topics: [[usedTopic, canceledTopic], addressTopic(authorization.from), authorization.nonce as Hex],
          fromBlock: `0x${from.toString(16)}`,
          toBlock: `0x${to.toString(16)}`,
        },
      ],
    })
    return log as Log | undefined
  }

  async #receiptOf(hash: Hex): Promise<TransactionReceipt | null> {
    try {
      return await this.#client.getTransactionReceipt({ hash })
    } catch (error) {
      if (error instanceof Error && error.name === 'TransactionReceiptNotFoundError') return null
      throw error
    }
  }
}

/** Blocks per request for events, as far as the node has allowed them during a search. */
interface Allowed {
  window: bigint
}

const requestsAtMost = ({ window }: Allowed): number => (window === logWindowBlocks ? logWindows : smallLogWindows)

/** Plans of node providers limit the window differently, and refuse in different words. */
function narrow(allowed: Allowed, error: unknown): 'refused' {
  if (!isRefusal(error) || allowed.window <= leastLogWindowBlocks) throw error
  allowed.window /= 10n
  return 'refused'
}

/** Whether the node answered and refused, and not because it gets too many requests. */
function isRefusal(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (/too many requests|rate.?limit|per second|throttl/i.test(each.message)) return false
    if (each.name === 'RpcRequestError') return true
    if (each.name === 'HttpRequestError' && 'status' in each) return each.status === 400 || each.status === 413
  }
  return false
}

const addressTopic = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`

/**
 * The token emits `AuthorizationUsed` directly followed by the `Transfer` of that authorization. Taking the token's
 * next event, and no other transfer of the transaction, keeps payments in one transaction apart.
 */
function landingIn(receipt: TransactionReceipt, { option, authorization }: EvmPayment): Landing | null {
  if (receipt.status !== 'success') return null
  const logs = receipt.logs.filter(log => log.address.toLowerCase() === option.asset.toLowerCase())
  const used = logs.findIndex(
    ({ topics: [event, from, nonce] }) =>
      event === usedTopic && from === addressTopic(authorization.from) && nonce === authorization.nonce,
  )
  const transfer = used === -1 ? undefined : logs[used + 1]
  if (!transfer) return null
  const [event, from, to] = transfer.topics
  const isOurs =
    event === transferTopic && from === addressTopic(authorization.from) && to === addressTopic(option.payTo)
  return isOurs
    ? { state: 'landed', transaction: receipt.transactionHash.toLowerCase(), amount: microUsd(BigInt(transfer.data)) }
    : null
}
