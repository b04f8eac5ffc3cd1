import { microUsd } from '#contract/money.ts'
import type { EvmAuthorization } from '#contract/payment.ts'
import type { OnChain } from '#service/payments/payment-chain.ts'
import type { Seeded } from '../seeded.ts'

/** Milliseconds between two blocks, as on Base. */
const blockMs = 2_000

/** Who brought an authorisation to the chain. */
export type Sender = 'service' | 'stranger'

interface Pending {
  transaction: string
  authorization: EvmAuthorization
  /** A cancelled authorisation uses its nonce and moves nothing. */
  kind: 'transfer' | 'cancel'
  sender: Sender
  inBlock: number
}

export type Landed = Pending

/**
 * A chain with one token: nonces, balances, blocks by the true time, and reorganisations up to the depth that the service
 * waits for. What it tells may be told late; what it decides is decided once.
 */
export class SimulatedChain {
  readonly confirmations: number
  readonly #payee: string
  readonly #draws: Seeded
  readonly #nowMs: () => number
  readonly #balances = new Map<string, bigint>()
  readonly #used = new Map<string, Landed>()
  #pending: Pending[] = []
  #transactions = 0

  constructor(options: { payee: string; confirmations: number; draws: Seeded; nowMs: () => number }) {
    this.#payee = options.payee.toLowerCase()
    this.confirmations = options.confirmations
    this.#draws = options.draws
    this.#nowMs = options.nowMs
  }

  get head(): number {
    return Math.floor(this.#nowMs() / blockMs)
  }

  mint(address: string, amount: bigint): void {
    this.#balances.set(address, this.balanceOf(address) + amount)
  }

  /** A payer empties the wallet. */
  drain(address: string): void {
    this.sync()
    this.#balances.set(address, 0n)
  }

  balanceOf(address: string): bigint {
    return this.#balances.get(address) ?? 0n
  }

  /** Brings an authorisation on its way, whoever does it. Answers the transaction and the time at which it is in a block. */
  send(
    authorization: EvmAuthorization,
    sender: Sender,
    kind: Pending['kind'] = 'transfer',
  ): { transaction: string; atMs: number } {
    this.sync()
    const transaction = `0x${(++this.#transactions).toString(16).padStart(64, '0')}`
    const slow = this.#draws.once(5) ? this.#draws.below(40) : 0
    const inBlock = this.head + 1 + slow
    // One in twenty never makes it: dropped by the node, or replaced.
    if (!this.#draws.once(20)) this.#pending.push({ transaction, authorization, kind, sender, inBlock })
    return { transaction, atMs: inBlock * blockMs }
  }

  /** Drops the newest blocks, at most as many as a payment waits for; their transactions come again later, or never. */
  reorganise(depth: number): number {
    this.sync()
    const from = this.head - Math.min(depth, this.confirmations) + 1
    const dropped = [...this.#used.values()].filter(({ inBlock }) => inBlock >= from)
    for (const landed of dropped) {
      const { authorization, kind } = landed
      this.#used.delete(nonceOf(authorization))
      if (kind === 'transfer') this.#move(authorization, -1n)
      if (!this.#draws.once(3)) this.#pending.push({ ...landed, inBlock: this.head + 1 + this.#draws.below(5) })
    }
    return dropped.length
  }

  /** Puts what is due into its block, in the order of the blocks. */
  sync(): void {
    const { head } = this
    const due = this.#pending.filter(({ inBlock }) => inBlock <= head)
    if (due.length === 0) return
    this.#pending = this.#pending.filter(({ inBlock }) => inBlock > head)
    for (const each of due.sort((one, other) => one.inBlock - other.inBlock)) this.#include(each)
  }

  /** Transfers to the payee that are in a block now. */
  transfersToPayee(): Landed[] {
    this.sync()
    return [...this.#used.values()].filter(
      ({ kind, authorization }) => kind === 'transfer' && authorization.to === this.#payee,
    )
  }

  isUsed(authorization: EvmAuthorization): boolean {
    this.sync()
    return this.#used.has(nonceOf(authorization))
  }

  /** True where the service has brought this authorisation to the chain, and it has landed or still may. */
  isBrought(authorization: EvmAuthorization): boolean {
    this.sync()
    if (this.#used.get(nonceOf(authorization))?.kind === 'cancel') return false
    const endsInBlock = (Number(authorization.validBefore) * 1000) / blockMs
    return [...this.#used.values(), ...this.#pending].some(
      each =>
        each.sender === 'service' &&
        each.inBlock < endsInBlock &&
        nonceOf(each.authorization) === nonceOf(authorization),
    )
  }

  /** What a node says whose newest block is so many blocks old. */
  find(authorization: EvmAuthorization, blocksBehind: number): OnChain {
    this.sync()
    const head = this.head - blocksBehind
    const landed = this.#used.get(nonceOf(authorization))
    if (!landed || landed.inBlock > head) {
      return { state: 'open', chainTimeSeconds: ((head - this.confirmations) * blockMs) / 1000 }
    }
    if (this.confirmations > 0 && head - landed.inBlock < this.confirmations) return { state: 'unconfirmed' }
    if (landed.kind === 'cancel' || landed.authorization.to !== this.#payee) return { state: 'void' }
    const amount = microUsd(BigInt(landed.authorization.value))
    return { state: 'landed', transaction: landed.transaction, amount }
  }

  #include(pending: Pending): void {
    const { authorization, kind, inBlock } = pending
    const { from, value, validAfter, validBefore } = authorization
    if (this.#used.has(nonceOf(authorization))) return
    const seconds = (inBlock * blockMs) / 1000
    if (kind === 'transfer') {
      if (seconds <= Number(validAfter) || seconds >= Number(validBefore)) return
      if (this.balanceOf(from) < BigInt(value)) return
      this.#move(authorization, 1n)
    }
    this.#used.set(nonceOf(authorization), pending)
  }

  #move({ from, to, value }: EvmAuthorization, times: 1n | -1n): void {
    this.mint(from, -times * BigInt(value))
    this.mint(to, times * BigInt(value))
  }
}

export const nonceOf = ({ from, nonce }: Pick<EvmAuthorization, 'from' | 'nonce'>): string => `${from}:${nonce}`
