import { authenticationFailed } from '#contract/errors/errors.ts'
import { addUsd, type MicroUsd, priceLines, zeroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { OpenList } from '#host/async.ts'
import { forThisSpan, type WithinSpan, withSpan } from '#host/tracing/tracing.ts'
import { availableOf } from '../accounts/balances.ts'
import { endedKeys } from '../accounts/keys.ts'
import { checkpointsATick, holdLeaseMs, mostTicksAtOnce, renewalTickMs } from '../bounds.ts'
import { commitSurely, type Store } from '../store/store.ts'
import type { Line } from '../store/units.ts'
import { Charge } from './charge.ts'
import { type AlsoCommit, type ChargeOrder, type ChargeParts, holdOf } from './charge-order.ts'
import type { Funding } from './funding.ts'

export interface ChargesOptions {
  store: Store
  clock: Clock
  /** Identifies this process in leases. */
  owner: string
  funding: Funding
  /** Called for every charge that exceeded its hold, with the excess. */
  onWriteOff?: ChargeParts['onWriteOff']
  /** Called for every call whose hold another process ended. */
  onHoldLost?: ChargeParts['onHoldLost']
  /** Called for failures that no caller waits for. */
  onFailure?: ChargeParts['onFailure']
}

/** All open charges of this process: opens them, renews their leases, and waits for them when the service drains. */
export class Charges {
  readonly #parts: ChargeParts
  readonly #open = new OpenList<Charge>()
  #renewal: NodeJS.Timeout | null = null
  #renewedAtMs: number | null = null
  #whenIdle: (() => void)[] = []
  #writeOffs = { charges: 0, microUsd: zeroUsd }

  constructor({ onWriteOff, ...options }: ChargesOptions) {
    this.#parts = {
      ...options,
      onWriteOff: (order, amount) => {
        this.#countWriteOff(amount)
        onWriteOff?.(order, amount)
      },
    }
  }

  /** What this process has written off since it started. */
  get writeOffs(): { charges: number; microUsd: MicroUsd } {
    return this.#writeOffs
  }

  /**
   * Holds credit. Throws why it cannot: `InsufficientCredit`, `OverBudget`, or the error that answers the request with
   * 401, 429 or 503.
   */
  open(order: ChargeOrder): Promise<Charge> {
    // A stream's reader ends it outside the request.
    const within = forThisSpan()
    return withSpan('hold', {}, () => this.#hold(order, within))
  }

  async #hold(order: ChargeOrder, within: WithinSpan): Promise<Charge> {
    const { clock, owner, store, funding } = this.#parts
    const hold = holdOf(order)
    const lease = { owner, untilMs: clock.now() + holdLeaseMs }
    const ops = await funding.holdOps({ ...order, hold }, lease)
    const outcome = await commitSurely(store, { id: `${hold}/hold`, ops })
    if (!outcome.ok) throw await funding.refusal({ ...order, hold }, outcome.why)
    const available = availableOf(outcome.balances, order.principal.account)
    const charge = new Charge({ order, available, within }, this.#parts)
    const forget = this.#open.add(charge)
    charge.whenEnded(() => {
      forget()
      this.#tellIdle()
    })
    this.#renewal ??= setInterval(() => {
      this.renew().catch(error => this.#parts.onFailure?.(error))
    }, renewalTickMs).unref()
    return charge
  }

  /** Whether this process works under that hold. */
  isOpen(hold: string): boolean {
    return this.#open.all().some(({ order }) => holdOf(order) === hold)
  }

  /** Renews every lease that is getting old and writes the cost so far; notifies charges whose holds are gone. */
  async renew(): Promise<void> {
    const open = this.#open.all()
    // The ones that have waited longest come first, so that each gets its turn.
    const due = open.filter(charge => charge.isCheckpointDue).sort((one, other) => one.lookedAtMs - other.lookedAtMs)
    const metered = due.slice(0, this.#turns())
    const old = open.filter(charge => charge.isLeaseOld && !metered.includes(charge))
    await this.#stopEndedKeys([...metered, ...old])
    const renewals = [
      ...metered.map(charge => ({ charge, unit: charge.checkpointUnit() })),
      ...old.map(charge => ({ charge, unit: charge.renewal() })),
    ].filter(renewal => renewal.unit !== null)
    if (!renewals.length) return
    const tell = () => {
      for (const charge of metered) charge.notWritten()
    }
    const outcomes = await this.#parts.store.commit(renewals.flatMap(({ unit }) => unit ?? [])).catch(tell)
    for (const [index, { charge }] of renewals.entries()) charge.renewed(outcomes?.[index])
  }

  /** How many charges may report their cost in this round. */
  #turns(): number {
    const nowMs = this.#parts.clock.now()
    const ticks = Math.round((nowMs - (this.#renewedAtMs ?? nowMs)) / renewalTickMs)
    this.#renewedAtMs = nowMs
    return checkpointsATick * Math.min(Math.max(ticks, 1), mostTicksAtOnce)
  }

  /** A revoked or expired key pays for no more of a stream. A failed check is repeated with the next renewal. */
  async #stopEndedKeys(charges: readonly Charge[]): Promise<void> {
    const watched = charges.flatMap(charge => (charge.watchedKey === null ? [] : [{ charge, key: charge.watchedKey }]))
    if (!watched.length) return
    const { store, clock } = this.#parts
    const keys = new Set(watched.map(({ key }) => key))
    const ended = await endedKeys(store, [...keys], clock.now()).catch(() => new Set<string>())
    for (const { charge, key } of watched) if (ended.has(key)) charge.stop(authenticationFailed())
  }

  /** Resolves when no charge is open. */
  async drain(): Promise<void> {
    if (this.#open.size) await new Promise<void>(resolve => this.#whenIdle.push(resolve))
    if (this.#renewal) clearInterval(this.#renewal)
    this.#renewal = null
  }

  #countWriteOff(amount: MicroUsd): void {
    const { charges, microUsd } = this.#writeOffs
    this.#writeOffs = { charges: charges + 1, microUsd: addUsd(microUsd, amount) }
  }

  #tellIdle(): void {
    if (this.#open.size) return
    for (const resolve of this.#whenIdle.splice(0)) resolve()
  }
}

/** The result of a paid call: its value, its cost, and what must be committed with the charge. */
export interface PaidWork<Value> {
  value: Value
  lines: readonly Line[]
  alsoCommit?: AlsoCommit
}

/**
 * The only path of a paid call: hold, `run`, capture of the lines that `run` returns. An error frees the hold. So does
 * a suspension of the account, after which no answer of `run` counts.
 */
export async function withCharge<Value>(
  charges: Charges,
  order: ChargeOrder,
  run: (charge: Charge) => Promise<PaidWork<Value>>,
) {
  const charge = await charges.open(order)
  try {
    const { value, lines, alsoCommit } = await new Promise<PaidWork<Value>>((resolve, reject) => {
      charge.whenSuspended(reject)
      run(charge).then(resolve, reject)
    })
    return { value, charged: await charge.capture(lines, alsoCommit) }
  } finally {
    // Does nothing after a capture; frees the hold after an error.
    await charge.release()
  }
}

/** Events that cost something, and their cost so far. */
export interface Metered<Event> {
  events: AsyncGenerator<Event>
  owed(): readonly Line[]
  /** The reader has left: the work ends soon, and its events with it. Never called after the charge has ended. */
  leave(): void
}

/**
 * The only path of a paid stream. The hold is taken before this returns and lives until the last event, an error, or
 * until its `reader` has left, whichever comes first; then the cost so far is captured. If the charge is stopped, the
 * events end at once with the reason, and the work behind them ends as if the reader had left, so that stopping is
 * never cheaper.
 */
export async function streamWithCharge<Event>(
  charges: Charges,
  order: ChargeOrder,
  reader: AbortSignal,
  begin: (charge: Charge) => Metered<Event>,
): Promise<{ charge: Charge; events: AsyncIterableIterator<Event> }> {
  const charge = await charges.open(order)
  const work = begin(charge)
  charge.meter(() => work.owed())
  const events = new ChargedEvents(work, charge)
  // Some runtimes report only through its signal that a reader has left, and never ask for another event.
  const end = () => void events.return().catch(() => undefined)
  reader.addEventListener('abort', end, { once: true })
  if (reader.aborted) end()
  charge.whenEnded(() => reader.removeEventListener('abort', end))
  return { charge, events }
}

/**
 * Not a generator: a generator that was never started skips its `finally` when the reader leaves, and the hold would
 * stay.
 */
class ChargedEvents<Event> implements AsyncIterableIterator<Event> {
  readonly #work: Metered<Event>
  readonly #charge: Charge
  #tellReader: ((error: Error) => void) | null = null
  #isTold = false

  constructor(work: Metered<Event>, charge: Charge) {
    this.#work = work
    this.#charge = charge
    charge.whenStopped(error => {
      this.#tellReader?.(error)
      // Errors from here on cannot be reported, as after a reader has left.
      this.return().catch(() => undefined)
    })
  }

  next(): Promise<IteratorResult<Event>> {
    if (this.#isTold) return Promise.resolve(over)
    return new Promise((resolve, reject) => {
      const tell = (error: Error) => {
        this.#isTold = true
        reject(error)
      }
      if (this.#charge.stopped) return tell(this.#charge.stopped)
      this.#tellReader = tell
      const settled = (settle: () => void) => {
        const stopTelling = () => {
          this.#tellReader = null
        }
        this.#charge.settle().finally(stopTelling).then(settle, reject)
      }
      this.#work.events.next().then(
        step => {
          if (step.done) return settled(() => resolve(step))
          this.#tellReader = null
          resolve(step)
        },
        error => settled(() => reject(error)),
      )
    })
  }

  async return(): Promise<IteratorResult<Event>> {
    if (this.#charge.open) this.#work.leave()
    try {
      await this.#work.events.return(undefined)
    } finally {
      await this.#charge.settle()
    }
    return over
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

const over = { done: true, value: undefined } as const

/**
 * Combines lines that were priced separately into those of one request, rounded up once over all of them, as the audit
 * expects.
 */
export function oneCharge(lines: readonly Line[]): Line[] {
  const amounts = priceLines(lines)
  return lines.map((line, index) => ({ ...line, amount: amounts[index] ?? line.amount }))
}
