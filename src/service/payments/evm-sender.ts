import type { Abi, TransactionSerializable } from 'viem'
import { receiptPollMs, rpcRetries, rpcTimeoutMs } from './bounds.ts'
import { chainIdOf } from './check-payment.ts'
import { failureWords } from './failure-words.ts'
import { OneAtATime } from './one-at-a-time.ts'

type Viem = typeof import('viem')
type Hex = `0x${string}`

export interface ContractCall {
  address: Hex
  abi: readonly unknown[]
  functionName: string
  args: readonly unknown[]
}

/** What a settlement tried to send. Its hash is known before it leaves, so a lost answer is not a lost transaction. */
export interface SendAttempt {
  transaction: Hex | null
  /** Set where it certainly was not sent: `words` are for the operator. */
  unsent: { by: 'token' | 'sender'; words: string } | null
}

/**
 * Sends transactions of one key. Counting, signing and sending happen one at a time, because two sends that counted at
 * once would take the same number; everything else may overlap.
 */
export class EvmSender {
  readonly client
  readonly address: Hex
  readonly #viem: Viem
  readonly #account
  readonly #sends = new OneAtATime()

  constructor(viem: Viem, accounts: typeof import('viem/accounts'), options: EvmSenderOptions) {
    const { network, rpcUrl, key } = options
    const chain = viem.defineChain({
      id: chainIdOf(network),
      name: network,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    })
    this.#viem = viem
    this.#account = accounts.privateKeyToAccount(key)
    this.address = this.#account.address
    const transport = viem.http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: rpcRetries })
    this.client = viem
      .createWalletClient({ account: this.#account, chain, transport, pollingInterval: receiptPollMs })
      .extend(viem.publicActions)
  }

  /** Rejects where it was not sent, and where that is not known; `attempt` tells which. */
  async send(call: ContractCall, attempt: SendAttempt): Promise<Hex> {
    const data = this.#viem.encodeFunctionData({ ...call, abi: call.abi as Abi })
    const gas = await this.#estimate(call.address, data, attempt)
    return this.#sends.run(async () => {
      const nonce = await this.client.getTransactionCount({ address: this.address, blockTag: 'pending' })
      const request = await this.client.prepareTransactionRequest({
        to: call.address,
        data,
        gas,
        nonce,
        parameters: ['fees', 'type', 'chainId'],
      })
      const signed = await this.#account.signTransaction(request as TransactionSerializable)
      attempt.transaction = this.#viem.keccak256(signed)
      return this.#broadcast(signed, attempt)
    })
  }

  /** A transfer that the token would refuse is refused here, before it costs anything. */
  async #estimate(to: Hex, data: Hex, attempt: SendAttempt): Promise<bigint> {
    try {
      return await this.client.estimateGas({ account: this.#account, to, data })
    } catch (error) {
      const { ExecutionRevertedError, BaseError } = this.#viem
      const reverted = error instanceof BaseError && error.walk(cause => cause instanceof ExecutionRevertedError)
      attempt.unsent = { by: reverted ? 'token' : 'sender', words: failureWords(error) }
      throw error
    }
  }

  async #broadcast(signed: Hex, attempt: SendAttempt): Promise<Hex> {
    try {
      return await this.client.sendRawTransaction({ serializedTransaction: signed })
    } catch (error) {
      if (error instanceof Error && /insufficient funds/i.test(error.message)) {
        attempt.transaction = null
        attempt.unsent = { by: 'sender', words: `The key ${this.address} has too little ETH for gas; send it some.` }
      }
      throw error
    }
  }
}

export interface EvmSenderOptions {
  /** CAIP-2. */
  network: string
  rpcUrl: string
  key: Hex
}
