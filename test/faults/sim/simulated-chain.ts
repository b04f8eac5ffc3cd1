import type { Seeded } from '../seeded.ts'
import type { Order } from './orders.ts'

/** Who brought an order to the chain. */
export type Sender = 'service' | 'stranger'

interface Pending {
  transaction: string
  order: Order
  /** A cancelled authorization uses its nonce and moves nothing. */
  kind: 'transfer' | 'cancel'
  sender: Sender
  inBlock: number
}

export type Landed = Pending

/** What a node says of an order. */
export type Seen =
  | { state: 'landed'; transaction: string; amount: bigint }
  | { state: 'void' | 'unconfirmed' }
  /** Not in any block; the newest block that stays. */
  | { state: 'open'; lastingBlock: number }

export interface SimulatedChainOptions {
  payee: string
  /** Milliseconds between two blocks. */
  blockMs: number
  /** Blocks that the service waits for; as many may be dropped again. */
  confirmations: number
  draws: Seeded
  nowMs: () => number
}

/**
 * A chain with one token: orders that it takes once, balances, blocks by the true time, and reorganizations up to the
 * depth that the service waits for. What it tells may be told late; what it decides is decided once.
 */
export class SimulatedChain {
  readonly confirmations: number
  readonly blockMs: number
  readonly #options: SimulatedChainOptions
  readonly #balances = new Map<string, bigint>()
  readonly #used = new Map<string, Landed>()
  #pending: Pending[] = []
  #transactions = 0

  constructor(options: SimulatedChainOptions) {
    this.#options = options
    this.confirmations = options.confirmations
    this.blockMs = options.blockMs
  }

  get head(): number {
    return Math.floor(this.#options.nowMs() / this.blockMs)
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

  /** Brings an order on its way, whoever does it. Answers the transaction and the time at which it is in a block. */
  send(order: Order, sender: Sender, kind: Pending['kind'] = 'transfer'): { transaction: string; atMs: number } {
    this.sync()
    const { draws } = this.#options
    const transaction = `0x${(++this.#transactions).toString(16).padStart(64, '0')}`
    const slow = draws.once(5) ? draws.below(40) : 0
    const inBlock = this.head + 1 + slow
    // One in twenty never makes it: dropped by the node, or replaced.
    if (!draws.once(20)) this.#pending.push({ transaction, order, kind, sender, inBlock })
    return { transaction, atMs: inBlock * this.blockMs }
  }

  /** Drops the newest blocks, at most as many as a payment waits for; their transactions try again in a moment later, or never. */
  reorganize(depth: number): number {
    this.sync()
    const { draws } = this.#options
    const from = this.head - Math.min(depth, this.confirmations) + 1
    const dropped = [...this.#used.values()].filter(({ inBlock }) => inBlock >= from)
    for (const landed of dropped) {
      const { order, kind } = landed
      this.#used.delete(order.id)
      if (kind === 'transfer') this.#move(order, -1n)
      if (!draws.once(3)) this.#pending.push({ ...landed, inBlock: this.head + 1 + draws.below(5) })
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
    return [...this.#used.values()].filter(({ kind, order }) => kind === 'transfer' && this.#isToPayee(order))
  }

  isUsed({ id }: Order): boolean {
    this.sync()
    return this.#used.has(id)
  }

  /** True where the service has brought this order to the chain, and it has landed or still may. */
  isBrought({ id, validBeforeMs }: Order): boolean {
    this.sync()
    if (this.#used.get(id)?.kind === 'cancel') return false
    return [...this.#used.values(), ...this.#pending].some(
      each => each.sender === 'service' && each.order.id === id && each.inBlock * this.blockMs < validBeforeMs,
    )
  }

  /** What a node says whose newest block is so many blocks old. */
  find({ id }: Order, blocksBehind: number): Seen {
    this.sync()
    const head = this.head - blocksBehind
    const landed = this.#used.get(id)
    if (!landed || landed.inBlock > head) return { state: 'open', lastingBlock: head - this.confirmations }
    if (this.confirmations > 0 && head - landed.inBlock < this.confirmations) return { state: 'unconfirmed' }
    if (landed.kind === 'cancel' || !this.#isToPayee(landed.order)) return { state: 'void' }
    return { state: 'landed', transaction: landed.transaction, amount: landed.order.amount }
  }

  #isToPayee({ to }: Order): boolean {
    return to.toLowerCase() === this.#options.payee.toLowerCase()
  }

  #include(pending: Pending): void {
    const { order, kind, inBlock } = pending
    if (this.#used.has(order.id)) return
    const atMs = inBlock * this.blockMs
    if (kind === 'transfer') {
      if (atMs <= order.validAfterMs || atMs >= order.validBeforeMs) return
      if (this.balanceOf(order.from) < order.amount) return
      this.#move(order, 1n)
    }
    this.#used.set(order.id, pending)
  }

  #move({ from, to, amount }: Order, times: 1n | -1n): void {
    this.mint(from, -times * amount)
    this.mint(to, times * amount)
  }
}
