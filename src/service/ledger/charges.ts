import type { Clock } from '#contract/clock.ts'
import { commitSurely } from '../store/commit-surely.ts'
import type { Store } from '../store/store.ts'
import type { Line } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { holdLeaseMs, holdRenewalMs } from './bounds.ts'
import { type AlsoCommit, availableOf, Charge, type ChargeOrder, InsufficientCredit } from './charge.ts'

/** All open charges of this process: opens them, keeps their leases, and waits for them when the service drains. */
export class Charges {
  readonly #store: Store
  readonly #clock: Clock
  /** Names this process in leases. */
  readonly #owner: string
  readonly #open = new Set<Charge>()
  #renewal: NodeJS.Timeout | null = null
  #whenIdle: (() => void)[] = []

  constructor(options: { store: Store; clock: Clock; owner: string }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#owner = options.owner
  }

  /** Holds credit. Throws `InsufficientCredit`. */
  async open(order: ChargeOrder): Promise<Charge> {
    const atMs = this.#clock.now()
    const lease = { owner: this.#owner, untilMs: atMs + holdLeaseMs }
    const hold = order.holdId ?? order.request
    const outcome = await commitSurely(this.#store, {
      id: `${hold}/hold`,
      ops: [{ op: 'hold', hold, account: order.account, amount: order.hold, lease, atMs }],
    })
    if (!outcome.ok) {
      const { why } = outcome
      if (why === 'insufficient_funds' || why === 'no_account') throw new InsufficientCredit(order.hold)
      throw new Error(`The ledger refused hold ${hold}: ${why}.`)
    }
    const available = availableOf(outcome.balances, order.account)
    const charge = new Charge(order, available, this.#store, this.#clock, ended => this.#forget(ended))
    this.#open.add(charge)
    this.#renewal ??= setInterval(() => void this.renew(), holdRenewalMs).unref()
    return charge
  }

  /** Moves every open lease; a refusal or a failure here is answered when the charge ends. */
  async renew(): Promise<void> {
    const units = [...this.#open].map(charge => charge.renewal(`${uuidV7(this.#clock.now())}/renew`, this.#owner))
    if (units.length) await this.#store.commit(units).catch(() => undefined)
  }

  /** Resolves when no charge is open. */
  async drain(): Promise<void> {
    if (this.#open.size) await new Promise<void>(resolve => this.#whenIdle.push(resolve))
    if (this.#renewal) clearInterval(this.#renewal)
    this.#renewal = null
  }

  #forget(charge: Charge): void {
    this.#open.delete(charge)
    if (this.#open.size) return
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }
}

/**
 * The one path of a paid call: hold, `run`, capture of the lines that `run` returns. An error frees the hold.
 */
export async function withCharge<Value>(
  charges: Charges,
  order: ChargeOrder,
  run: (charge: Charge) => Promise<{ value: Value; lines: readonly Line[]; alsoCommit?: AlsoCommit }>,
) {
  const charge = await charges.open(order)
  try {
    const { value, lines, alsoCommit } = await run(charge)
    return { value, charged: await charge.capture(lines, alsoCommit) }
  } finally {
    // After a capture this does nothing; after an error it frees the hold.
    await charge.release()
  }
}

/**
 * The same for a stream: the hold is taken before this returns and lives until the last event, an error or the reader's
 * leaving, whichever comes first; then what is owed is captured.
 */
export async function streamWithCharge<Event>(
  charges: Charges,
  order: ChargeOrder,
  run: (charge: Charge, tab: { set(owed: () => readonly Line[]): void }) => AsyncGenerator<Event>,
): Promise<{ charge: Charge; events: AsyncIterableIterator<Event> }> {
  const charge = await charges.open(order)
  let owed: () => readonly Line[] = () => []
  const source = run(charge, {
    set: next => {
      owed = next
    },
  })
  return { charge, events: settledAtEnd(source, charge, () => owed()) }
}

/** Not a generator: one that was never started skips its `finally` when the reader leaves, and the hold would stay. */
function settledAtEnd<Event>(
  source: AsyncGenerator<Event>,
  charge: Charge,
  owed: () => readonly Line[],
): AsyncIterableIterator<Event> {
  const settle = () => charge.capture(owed())
  return {
    async next() {
      try {
        const step = await source.next()
        if (step.done) await settle()
        return step
      } catch (error) {
        await settle()
        throw error
      }
    },
    async return() {
      try {
        await source.return(undefined)
      } finally {
        await settle()
      }
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
