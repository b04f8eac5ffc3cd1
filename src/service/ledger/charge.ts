import type { Clock } from '#contract/clock.ts'
import { addUsd, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { commitSurely } from '../store/commit-surely.ts'
import type { Store } from '../store/store.ts'
import type { Balance, Line, Unit } from '../store/units.ts'
import { holdLeaseMs } from './bounds.ts'

/** What a paid call reserves before its engine is asked. */
export interface ChargeOrder {
  /** A UUIDv7: it names the hold, and no request is charged twice. */
  request: string
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

  /** Charges the lines, whose sum the hold covers, and frees the rest. No lines: nothing is charged. */
  capture(lines: readonly Line[]): Promise<Charged> {
    this.#ended ??= this.#end(lines)
    return this.#ended
  }

  release(): Promise<Charged> {
    return this.capture([])
  }

  async #end(lines: readonly Line[]): Promise<Charged> {
    const { request, model, account } = this.order
    const atMs = this.#clock.now()
    const unit: Unit = lines.length
      ? { id: `${request}/capture`, ops: [{ op: 'capture', hold: request, request, model, lines, atMs }] }
      : { id: `${request}/release`, ops: [{ op: 'release', hold: request }] }
    try {
      const outcome = await commitSurely(this.#store, unit)
      if (!outcome.ok) throw new Error(`The ledger refused to end hold ${request}: ${outcome.why}.`)
      return {
        chargedMicroUsd: lines.length ? addUsd(...lines.map(line => line.amount)) : zeroUsd,
        availableMicroUsd: availableOf(outcome.balances, account),
      }
    } finally {
      this.#onEnd(this)
    }
  }

  /** The unit that keeps this hold alive; its lease is what recovery looks at. */
  renewal(id: string, owner: string): Unit {
    const lease = { owner, untilMs: this.#clock.now() + holdLeaseMs }
    return { id, ops: [{ op: 'renew', hold: this.order.request, lease }] }
  }
}
