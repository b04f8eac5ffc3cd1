import type { Clock } from '#contract/clock.ts'
import { addUsd, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { commitSurely } from '../store/commit-surely.ts'
import type { Store } from '../store/store.ts'
import type { Balance, Line, Op, Outcome, Refusal, Unit } from '../store/units.ts'
import { holdLeaseMs } from './bounds.ts'

/** What a paid call reserves before its engine is asked. */
export interface ChargeOrder {
  /** A UUIDv7: no request is charged twice. */
  request: string
  /** A UUIDv7 that names the hold; the request's where absent. Another one where a request is taken up again. */
  holdId?: string
  account: string
  model: string | null
  hold: MicroUsd
}

/** Thrown before anything happened: the account's available credit does not cover the hold. */
export class InsufficientCredit extends Error {
  readonly neededMicroUsd: MicroUsd

  constructor(neededMicroUsd: MicroUsd) {
    super('The available credit does not cover this call.')
    this.name = 'InsufficientCredit'
    this.neededMicroUsd = neededMicroUsd
  }
}

/** Operations for the commit that ends a hold, once it is known what the request was charged. */
export type AlsoCommit = (chargedMicroUsd: MicroUsd) => readonly Op[]

/** Thrown when what was to be committed beside the end of a hold was refused: the hold is freed, nothing was charged. */
export class AlsoCommitRefused extends Error {
  readonly why: Refusal

  constructor(why: Refusal) {
    super(`What belongs to the end of a hold was refused: ${why}.`)
    this.name = 'AlsoCommitRefused'
    this.why = why
  }
}

export interface Charged {
  chargedMicroUsd: MicroUsd
  /** Null when only a restart will tell. */
  availableMicroUsd: MicroUsd | null
}

export const availableOf = (balances: readonly Balance[], account: string): MicroUsd | null => {
  const balance = balances.find(each => each.account === account)
  return balance ? addUsd(balance.posted, -balance.held) : null
}

/** One open hold. Ends exactly once, by `capture` or `release`; whoever comes second gets the first result. */
export class Charge {
  readonly order: ChargeOrder
  readonly heldAvailableMicroUsd: MicroUsd | null
  readonly #store: Store
  readonly #clock: Clock
  readonly #onEnd: (charge: Charge) => void
  #ended: Promise<Charged> | null = null

  constructor(
    order: ChargeOrder,
    available: MicroUsd | null,
    store: Store,
    clock: Clock,
    onEnd: (charge: Charge) => void,
  ) {
    this.order = order
    this.heldAvailableMicroUsd = available
    this.#store = store
    this.#clock = clock
    this.#onEnd = onEnd
  }

  get open(): boolean {
    return this.#ended === null
  }

  get holdId(): string {
    return this.order.holdId ?? this.order.request
  }

  /**
   * Charges the lines, whose sum the hold covers, and frees the rest. No lines: nothing is charged; nor is a request that
   * was charged before, by a process that died. Throws `AlsoCommitRefused`.
   */
  capture(lines: readonly Line[], alsoCommit?: AlsoCommit): Promise<Charged> {
    this.#ended ??= this.#end(lines, alsoCommit)
    return this.#ended
  }

  release(): Promise<Charged> {
    return this.capture([])
  }

  async #end(lines: readonly Line[], alsoCommit: AlsoCommit = () => []): Promise<Charged> {
    try {
      let charged = addUsd(zeroUsd, ...lines.map(line => line.amount))
      let outcome = await this.#commitEnd(lines, alsoCommit(charged))
      if (!outcome.ok && outcome.why === 'request_charged') {
        charged = zeroUsd
        outcome = await this.#commitEnd([], alsoCommit(charged))
      }
      if (outcome.ok) {
        return { chargedMicroUsd: charged, availableMicroUsd: availableOf(outcome.balances, this.order.account) }
      }
      if (outcome.op === 0) throw new Error(`The ledger refused to end hold ${this.holdId}: ${outcome.why}.`)
      await this.#commitEnd([], [])
      throw new AlsoCommitRefused(outcome.why)
    } finally {
      this.#onEnd(this)
    }
  }

  #commitEnd(lines: readonly Line[], beside: readonly Op[]): Promise<Outcome> {
    const { request, model } = this.order
    const hold = this.holdId
    const atMs = this.#clock.now()
    const unit: Unit = lines.length
      ? { id: `${hold}/capture`, ops: [{ op: 'capture', hold, request, model, lines, atMs }, ...beside] }
      : { id: `${hold}/release`, ops: [{ op: 'release', hold }, ...beside] }
    return commitSurely(this.#store, unit)
  }

  /** The unit that keeps this hold alive; its lease is what recovery looks at. */
  renewal(id: string, owner: string): Unit {
    const lease = { owner, untilMs: this.#clock.now() + holdLeaseMs }
    return { id, ops: [{ op: 'renew', hold: this.holdId, lease }] }
  }
}
