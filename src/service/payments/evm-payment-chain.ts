import type { Log, PublicClient, TransactionReceipt } from 'viem'
import { microUsd } from '#contract/money.ts'
import { logWindowBlocks, logWindows, rpcRetries, rpcTimeoutMs } from './bounds.ts'
import { ChainUnavailable } from './chain-unavailable.ts'
import type { OnChain, PaymentChain } from './payment-chain.ts'
import type { SignedPayment } from './signed-payment.ts'

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

/** Reads EIP-3009 payments from a node. Asks nothing of the network until the first question. */
export async function openEvmPaymentChain(options: { rpcUrl: string }): Promise<PaymentChain> {
  const { createPublicClient, http } = await import('viem')
  return new EvmPaymentChain(
    createPublicClient({ transport: http(options.rpcUrl, { timeout: rpcTimeoutMs, retryCount: rpcRetries }) }),
  )
}

class EvmPaymentChain implements PaymentChain {
  readonly #client: PublicClient

  constructor(client: PublicClient) {
    this.#client = client
  }

  async find(payment: SignedPayment, transaction: string | null): Promise<OnChain> {
    try {
      const seen = transaction === null ? null : await this.#landedIn(transaction as Hex, payment)
      return seen ?? (await this.#findNonce(payment))
    } catch (cause) {
      throw new ChainUnavailable('The node did not tell what became of the payment.', { cause })
    }
  }

  /** The state is read at the block whose time is told, so that "unused at that time" is one fact. */
  async #findNonce(payment: SignedPayment): Promise<OnChain> {
    const block = await this.#client.getBlock({ blockTag: 'latest' })
    const isUsed = await this.#client.readContract({
      address: payment.option.asset as Hex,
      abi: authorizationState,
      functionName: 'authorizationState',
      args: [payment.authorization.from as Hex, payment.authorization.nonce as Hex],
      blockNumber: block.number,
    })
    if (!isUsed) return { state: 'open', chainTimeSeconds: Number(block.timestamp) }
    return this.#searchBackwards(payment, block.number)
  }

  async #searchBackwards(payment: SignedPayment, latest: bigint): Promise<OnChain> {
    for (let window = 0, to = latest; window < logWindows && to >= 0n; window++, to -= logWindowBlocks) {
      const from = to - logWindowBlocks + 1n
      const log = await this.#usedBetween(payment, from < 0n ? 0n : from, to)
      if (!log?.transactionHash) continue
      if (log.topics[0] === canceledTopic) return { state: 'void' }
      const receipt = await this.#receiptOf(log.transactionHash)
      // Nodes behind one address answer for themselves; without the receipt nobody may say that nothing landed.
      if (!receipt) throw new Error('The node has the event of the nonce, and not yet the receipt of its transaction.')
      return landingIn(receipt, payment) ?? { state: 'void' }
    }
    throw new Error('The nonce is used, and the node has no event of it in the blocks that were searched.')
  }

  async #usedBetween({ option, authorization }: SignedPayment, from: bigint, to: bigint): Promise<Log | undefined> {
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

  async #landedIn(transaction: Hex, payment: SignedPayment): Promise<OnChain | null> {
    const receipt = await this.#receiptOf(transaction)
    return receipt && landingIn(receipt, payment)
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

const addressTopic = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`

/**
 * The token writes `AuthorizationUsed` and right after it the `Transfer` of that authorisation. Taking the next event
 * of the token, and no other transfer of the transaction, keeps payments apart that share one.
 */
function landingIn(receipt: TransactionReceipt, { option, authorization }: SignedPayment): OnChain | null {
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
