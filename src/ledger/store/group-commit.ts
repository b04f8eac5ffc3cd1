import { queuedUnits } from '../bounds.ts'
import { Gathering, nextBatch } from './batching.ts'
import { type Outcome, StoreError } from './store.ts'
import type { Unit } from './units.ts'

/** One call of `commit`: its units may be sent in several batches. */
interface Call {
  outcomes: Outcome[]
  missing: number
  resolve(outcomes: Outcome[]): void
  reject(error: StoreError): void
}

export interface UnitPlace {
  call: Call
  index: number
}

export interface QueuedUnit extends UnitPlace {
  unit: Unit
}

/** Other work of the writer, such as deleting old rows. */
export interface Chore<Order> {
  order: Order
  resolve(rows: number): void
  reject(error: unknown): void
}

/**
 * Group commit: units gather and are sent as one batch, one batch at a time. The writer of each database knows how a
 * batch and a chore are sent, and calls `sent` when their results are there.
 */
export abstract class GroupCommit<Queued extends QueuedUnit, Order> {
  protected waiting: Queued[] = []
  protected chores: Chore<Order>[] = []
  /** Why nothing more is accepted. */
  protected ended: StoreError | null = null
  readonly #gathering = new Gathering(() => this.#send())
  #isSending = false
  #whenIdle: (() => void) | null = null
  readonly #whatIsSlow: string

  constructor(whatIsSlow: 'disk' | 'database') {
    this.#whatIsSlow = whatIsSlow
  }

  commit(units: readonly Unit[]): Promise<Outcome[]> {
    if (this.ended) return Promise.reject(this.ended)
    if (units.length === 0) return Promise.resolve([])
    if (this.waiting.length + units.length > queuedUnits) return Promise.reject(queueFull(this.#whatIsSlow))
    return new Promise((resolve, reject) => {
      const call: Call = { outcomes: new Array(units.length), missing: units.length, resolve, reject }
      for (const [index, unit] of units.entries()) this.take(unit, { call, index })
      if (this.waiting.length > 0) this.#schedule()
    })
  }

  /** Puts a unit into the queue, or settles it. */
  protected abstract take(unit: Unit, place: UnitPlace): void

  protected abstract sendBatch(batch: Queued[]): void

  protected abstract sendChore(chore: Chore<Order>): void

  protected ask(order: Order): Promise<number> {
    if (this.ended) return Promise.reject(this.ended)
    return new Promise((resolve, reject) => {
      this.chores.push({ order, resolve, reject })
      this.#schedule()
    })
  }

  protected get isBusy(): boolean {
    return this.#isSending || this.waiting.length > 0 || this.chores.length > 0
  }

  /** What was sent is settled; the next is sent. */
  protected sent(): void {
    this.#isSending = false
    if (this.isBusy) this.#schedule()
    else this.#whenIdle?.()
  }

  /** Accepts nothing more, and finishes what was accepted. Returns false if that has begun already. */
  protected async finish(): Promise<boolean> {
    if (this.ended) return false
    this.ended = new StoreError('closed', 'The store is closed; open it again to write.')
    if (this.isBusy) {
      await new Promise<void>(resolve => {
        this.#whenIdle = resolve
      })
    }
    return true
  }

  #schedule(): void {
    if (!this.#isSending) this.#gathering.wait(this.waiting.length, this.chores.length > 0 || this.ended !== null)
  }

  #send(): void {
    if (this.#isSending || !this.isBusy) return
    this.#isSending = true
    // Chores come first and run one at a time: there are few, each is short, and commits gather meanwhile.
    const chore = this.chores.shift()
    if (chore) this.sendChore(chore)
    else {
      const batch = this.waiting.splice(0, nextBatch(this.waiting))
      this.#gathering.sent(batch.length)
      this.sendBatch(batch)
    }
  }
}

/** Gives a call the result of one of its units. */
export function settle({ call, index }: UnitPlace, result: Outcome | StoreError): void {
  if (result instanceof StoreError) call.reject(result)
  else {
    call.outcomes[index] = result
    call.missing--
    if (call.missing === 0) call.resolve(call.outcomes)
  }
}

const queueFull = (whatIsSlow: string): StoreError =>
  new StoreError(
    'queue_full',
    `More than ${queuedUnits} units are waiting to be written, because the ${whatIsSlow} cannot keep up; try again later.`,
  )
