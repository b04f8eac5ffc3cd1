import { setTimeout as sleep } from 'node:timers/promises'
import type { Abi, Transaction, TransactionReceipt, TransactionSerializable } from 'viem'
import { type Clock, systemClock } from '#contract/time.ts'
import {
  emptiedBalanceGas,
  feesPerHourWei,
  receiptPollMs,
  replacementLooks,
  rpcRetries,
  rpcTimeoutMs,
  sendInTurnMs,
  sendsInTurn,
} from '../bounds.ts'
import { type CountedFee, FeeBudget, OneAtATime } from '../facilitators/fee-budget.ts'
import { failureWords } from '../payment/payment.ts'
import { chainIdOf } from './evm-rail.ts'

type Viem = typeof import('viem')
type Hex = `0x${string}`

/** Per unit of gas; a chain has either two fees or the price. */
interface Fees {
  maxFeePerGas?: bigint | undefined
  maxPriorityFeePerGas?: bigint | undefined
  gasPrice?: bigint | undefined
}

/** A transaction that is complete except for its number. */
interface Prepared extends Fees {
  gas: bigint
  [member: string]: unknown
}

export interface ContractCall {
  address: Hex
  abi: readonly unknown[]
  functionName: string
  args: readonly unknown[]
}

/**
 * What a settlement tried to send. The hash is known before sending, so the transaction can be found even if the answer
 * is lost.
 */
export interface SendAttempt {
  transaction: Hex | null
  /** Its number among the transactions of the key. */
  number: number | null
  /** Set if an earlier attempt lost its number: to another sender, or to the same transaction on a node that lags. */
  mayHaveLanded: boolean
  /** Set if it was certainly not sent; `words` are for the operator. */
  unsent: { by: 'token' | 'sender'; words: string } | null
  /** The fee that was reserved for it, to be corrected by its receipt. */
  fee: CountedFee | null
}

/** `replaced`: a block has another transaction of the key under its number, so it can no longer land. */
export type Outcome = 'succeeded' | 'failed' | 'replaced'

export const newAttempt = (): SendAttempt => ({
  transaction: null,
  number: null,
  mayHaveLanded: false,
  unsent: null,
  fee: null,
})

/**
 * Sends transactions of one key. Numbering, signing and sending happen one at a time, because two concurrent sends
 * would take the same number; everything else may overlap. Processes may share a key: a lost number costs seconds.
 */
export class EvmSender {
  readonly client
  readonly address: Hex
  readonly #viem: Viem
  readonly #account
  readonly #sends = new OneAtATime()
  readonly #fees: FeeBudget
  /** The maximum cost of the last transaction: the best estimate for the next one. */
  #usualFee = 1n
  #dataFee = 0n

  constructor(viem: Viem, accounts: typeof import('viem/accounts'), options: EvmSenderOptions) {
    const { network, rpcUrl, key } = options
    const chain = viem.defineChain({
      id: chainIdOf(network),
      name: network,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    })
    this.#viem = viem
    this.#fees = new FeeBudget({
      perHour: options.feesPerHourWei ?? feesPerHourWei,
      clock: options.clock ?? systemClock,
    })
    this.#account = accounts.privateKeyToAccount(key)
    this.address = this.#account.address
    const transport = viem.http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: rpcRetries })
    this.client = viem.createWalletClient({ account: this.#account, chain, transport }).extend(viem.publicActions)
  }

  /**
   * Whether the hourly fee cap has room for one more transaction. An unused cap always has: only another attempt shows
   * that fees have fallen below it.
   */
  get canPay(): boolean {
    const { left, perHour } = this.#fees
    return left > 0n && (left === perHour || left >= this.#usualFee)
  }

  /** What a rollup took for the data of the last transaction; it is in no gas limit and has no maximum. */
  get dataFee(): bigint {
    return this.#dataFee
  }

  get feeProblem(): string {
    return `Fees have reached the hourly cap of ${this.#viem.formatEther(this.#fees.perHour)} ETH, so payments wait; raise the cap if this is not an attack.`
  }

  /**
   * Rejects if the transaction was not sent, or if that is unknown; `attempt` tells which. An `earlier` transaction of
   * the same call that still waits for a block keeps its number, so only one of the two can cost a fee.
   */
  async send(call: ContractCall, gasAtMost: bigint, attempt: SendAttempt, earlier: Hex | null = null): Promise<Hex> {
    const waiting = earlier && (await this.#waiting(earlier))
    if (waiting) return this.#sends.run(() => this.#raise(waiting, attempt))
    const data = this.#viem.encodeFunctionData({ ...call, abi: call.abi as Abi })
    const prepared = await this.#prepare({ to: call.address, data, gasAtMost }, attempt)
    return this.#sends.run(() => this.#sendInTurn(prepared, attempt))
  }

  /**
   * What became of the transaction that `send` sent. Rejects if that is not known when `until` has passed, in the time
   * of `performance.now`.
   */
  async outcomeOf(attempt: SendAttempt, until: number): Promise<Outcome> {
    for (let look = 1, lost = 0; ; look++) {
      // The count comes first: if it has passed the number, a transaction that landed has its receipt by now.
      if (look % replacementLooks === 0) lost = (await this.#isNumberUsed(attempt)) ? lost + 1 : 0
      const receipt = await this.#receiptOf(attempt)
      if (receipt) {
        this.#dataFee = dataFeeOf(receipt)
        attempt.fee?.correct(receipt.gasUsed * receipt.effectiveGasPrice + this.#dataFee)
        return receipt.status === 'success' ? 'succeeded' : 'failed'
      }
      // Twice, because one of several nodes behind an address may have the block and the next one not yet.
      if (lost === 2) {
        this.#loseNumber(attempt)
        return 'replaced'
      }
      if (performance.now() >= until) throw new Error('The transaction is in no block yet.')
      await sleep(receiptPollMs)
    }
  }

  /** Whether a block has a transaction of the key with this number: this one, or one that replaced it. */
  async #isNumberUsed({ number }: SendAttempt): Promise<boolean> {
    return number !== null && (await this.client.getTransactionCount({ address: this.address })) > number
  }

  async #receiptOf({ transaction }: SendAttempt): Promise<TransactionReceipt | null> {
    if (!transaction) return null
    try {
      return await this.client.getTransactionReceipt({ hash: transaction })
    } catch (error) {
      if (error instanceof this.#viem.TransactionReceiptNotFoundError) return null
      throw error
    }
  }

  #loseNumber(attempt: SendAttempt): void {
    attempt.mayHaveLanded = true
    attempt.transaction = null
    attempt.fee?.correct(0n)
  }

  /** The transaction, if it is of this key and the node has it in no block yet. */
  async #waiting(hash: Hex): Promise<Transaction | null> {
    try {
      const found = await this.client.getTransaction({ hash })
      return found.blockNumber === null && found.from.toLowerCase() === this.address.toLowerCase() ? found : null
    } catch (error) {
      if (error instanceof this.#viem.TransactionNotFoundError) return null
      throw error
    }
  }

  /** Replaces a waiting transaction by one with a higher fee, if fees have risen above its own. */
  async #raise(waiting: Transaction, attempt: SendAttempt): Promise<Hex> {
    attempt.transaction = waiting.hash
    attempt.number = waiting.nonce
    const { type, nonce, to, gas, input: data } = waiting
    const fees = raised(waiting, await this.client.estimateFeesPerGas(type === 'legacy' ? { type } : undefined))
    if (!fees) return waiting.hash
    try {
      return await this.#sign({ chainId: this.client.chain.id, type, to, data, gas, ...fees }, nonce, attempt)
    } catch (error) {
      // A block has taken the earlier one in the meantime.
      if (!isNumberTaken(error)) throw error
      attempt.fee?.correct(0n)
      attempt.transaction = waiting.hash
      return waiting.hash
    }
  }

  /** Other processes may send with the same key; if one has taken the number, a new one is read. */
  async #sendInTurn(prepared: Prepared, attempt: SendAttempt): Promise<Hex> {
    for (let time = 1; time <= sendsInTurn; time++) {
      const sent = await this.#sendOnce(prepared, attempt)
      if (sent) return sent
      await sleep(sendInTurnMs * time)
    }
    const words = `Other processes keep using the key ${this.address}; give this process its own key.`
    attempt.unsent = { by: 'sender', words }
    throw new Error('Another process used the key at every attempt.')
  }

  /** Returns null if another sender took the number; then it was not sent. */
  async #sendOnce(prepared: Prepared, attempt: SendAttempt): Promise<Hex | null> {
    const nonce = await this.client.getTransactionCount({ address: this.address, blockTag: 'pending' })
    try {
      return await this.#sign(prepared, nonce, attempt)
    } catch (error) {
      const { transaction } = attempt
      if (!transaction || !isNumberTaken(error) || (await this.#isKnown(transaction))) throw error
      this.#loseNumber(attempt)
      return null
    }
  }

  /** Signs it with this number, and sends it. */
  async #sign(prepared: Prepared, nonce: number, attempt: SendAttempt): Promise<Hex> {
    this.#countFee(prepared.gas * (prepared.maxFeePerGas ?? prepared.gasPrice ?? 0n) + this.#dataFee, attempt)
    const signed = await this.#account.signTransaction({ ...prepared, nonce } as TransactionSerializable)
    const transaction = this.#viem.keccak256(signed)
    attempt.transaction = transaction
    attempt.number = nonce
    await this.#broadcast(signed, attempt)
    return transaction
  }

  /** This very transaction may have taken the number, if the answer to it was lost and it was sent again. */
  async #isKnown(hash: Hex): Promise<boolean> {
    try {
      await this.client.getTransaction({ hash })
      return true
    } catch (error) {
      return !(error instanceof this.#viem.TransactionNotFoundError)
    }
  }

  #countFee(fee: bigint, attempt: SendAttempt): void {
    this.#usualFee = fee
    attempt.fee = this.#fees.count(fee)
    if (attempt.fee) return
    attempt.unsent = { by: 'sender', words: this.feeProblem }
    throw new Error('The hourly cap on fees leaves no room for the transaction.')
  }

  /**
   * Everything but the number. Refuses a transfer that the token would refuse, before it costs anything, and one that
   * would need too much gas.
   */
  async #prepare(call: { to: Hex; data: Hex; gasAtMost: bigint }, attempt: SendAttempt): Promise<Prepared> {
    const prepared = await this.#estimate(call, attempt)
    if (prepared.gas <= call.gasAtMost) return { ...prepared, gas: prepared.gas + emptiedBalanceGas }
    attempt.unsent = { by: 'token', words: `The transfer takes ${prepared.gas} gas.` }
    throw new Error('The transfer takes more gas than a payment may.')
  }

  /** One request to a node that fills in transactions, and several to any other. */
  async #estimate({ to, data }: { to: Hex; data: Hex }, attempt: SendAttempt): Promise<Prepared> {
    try {
      return await this.client.prepareTransactionRequest({
        ...{ account: this.#account, to, data },
        parameters: ['gas', 'fees', 'type', 'chainId'],
      })
    } catch (error) {
      const { ExecutionRevertedError, BaseError } = this.#viem
      const reverted = error instanceof BaseError && error.walk(cause => cause instanceof ExecutionRevertedError)
      attempt.unsent = { by: reverted ? 'token' : 'sender', words: failureWords(error) }
      throw error
    }
  }

  async #broadcast(signed: Hex, attempt: SendAttempt): Promise<void> {
    try {
      await this.client.sendRawTransaction({ serializedTransaction: signed })
    } catch (error) {
      if (error instanceof Error && /insufficient funds/i.test(error.message)) {
        attempt.transaction = null
        attempt.fee?.correct(0n)
        attempt.unsent = { by: 'sender', words: `The key ${this.address} has too little ETH for gas; send it some.` }
      }
      throw error
    }
  }
}

/**
 * Returns the fees for a transaction that replaces this one, or null while its own are enough. Nodes refuse one whose
 * fees are not a tenth higher.
 */
function raised(waiting: Fees, now: Fees): Fees | null {
  const most = waiting.maxFeePerGas ?? waiting.gasPrice ?? 0n
  const needed = now.maxFeePerGas ?? now.gasPrice ?? 0n
  if (needed <= tenthMore(most)) return null
  if (waiting.maxFeePerGas === undefined) return { gasPrice: needed }
  const tip = larger(now.maxPriorityFeePerGas ?? 0n, tenthMore(waiting.maxPriorityFeePerGas ?? 0n))
  return { maxFeePerGas: larger(needed, tip), maxPriorityFeePerGas: tip }
}

const tenthMore = (fee: bigint): bigint => (fee * 11n) / 10n + 1n

const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** Rollups such as Base add the fee of the chain below to their receipts; `viem` passes it on as it came. */
function dataFeeOf(receipt: TransactionReceipt & { l1Fee?: unknown }): bigint {
  const { l1Fee } = receipt
  return typeof l1Fee === 'string' && /^0x[0-9a-f]{1,32}$/i.test(l1Fee) ? BigInt(l1Fee) : 0n
}

/** Matches the errors of nodes for a number that another transaction of the key has. */
const isNumberTaken = (error: unknown): boolean =>
  error instanceof Error &&
  /nonce too low|lower than the current nonce|replacement transaction underpriced|already known/i.test(error.message)

export interface EvmSenderOptions {
  /** CAIP-2. */
  network: string
  rpcUrl: string
  key: Hex
  /** Maximum cost of settling per hour; `feesPerHourWei` of the bounds by default. */
  feesPerHourWei?: bigint
  clock?: Clock
}
