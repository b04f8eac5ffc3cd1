import { nextBatch } from '../batching.ts'
import { queuedUnits } from '../bounds.ts'
import { type Outcome, type PruneSlice, StoreError } from '../store.ts'
import type { Unit } from '../units.ts'
import { commitBatch, pruneRows } from './batch.ts'
import type { WriterLink } from './link.ts'
import { invalidOutcome, type SentUnit, sentUnit } from './sent-unit.ts'

/** One call of `commit`: its units may travel in several batches. */
interface Call {
  outcomes: Outcome[]
  missing: number
  resolve(outcomes: Outcome[]): void
  reject(error: StoreError): void
}

interface Waiting extends SentUnit {
  call: Call
  index: number
}

interface Chore {
  slice: PruneSlice
  rows: number
  resolve(rows: number): void
  reject(error: unknown): void
}

/**
 * Group commit: what gathers until `setImmediate` travels as one call of the batch function, one batch at a time over one
 * connection. More of them would let units overtake each other, and the database spends the time, not the way to it.
 */
export class PostgresWriter {
  readonly #link: WriterLink
  #waiting: Waiting[] = []
  #chores: Chore[] = []
  #busy = false
  #scheduled = false
  /** Why nothing more is taken. */
  #ended: StoreError | null = null
  #whenIdle: (() => void) | null = null

  constructor(link: WriterLink) {
    this.#link = link
  }

  commit(units: readonly Unit[]): Promise<Outcome[]> {
    if (this.#ended) return Promise.reject(this.#ended)
    if (units.length === 0) return Promise.resolve([])
    if (this.#waiting.length + units.length > queuedUnits) return Promise.reject(queueFull())
    return new Promise((resolve, reject) => {
      const call: Call = { outcomes: new Array(units.length), missing: units.length, resolve, reject }
      for (const [index, unit] of units.entries()) this.#take(unit, call, index)
    })
  }

  prune(slice: PruneSlice, rows: number): Promise<number> {
    if (this.#ended) return Promise.reject(this.#ended)
    return new Promise((resolve, reject) => {
      this.#chores.push({ slice, rows, resolve, reject })
      this.#schedule()
    })
  }

  /** Takes nothing more, finishes what has been taken, closes the connection. */
  async close(): Promise<void> {
    if (this.#ended) return
    this.#ended = new StoreError('closed', 'The store is closed; open it again to write.')
    if (this.#hasWork()) {
      await new Promise<void>(resolve => {
        this.#whenIdle = resolve
      })
    }
    await this.#link.close()
  }

  #take(unit: Unit, call: Call, index: number): void {
    try {
      const sent = sentUnit(unit)
      if (sent) {
        this.#waiting.push({ ...sent, call, index })
        this.#schedule()
      } else settle({ call, index }, invalidOutcome(-1))
    } catch (cause) {
      call.reject(new StoreError('unit_failed', 'A unit is no plain data; it left no trace.', { cause }))
    }
  }

  #hasWork(): boolean {
    return this.#busy || this.#waiting.length > 0 || this.#chores.length > 0
  }

  #schedule(): void {
    if (this.#scheduled || this.#busy) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#send()
    })
  }

  async #send(): Promise<void> {
    this.#busy = true
    // Chores come first and one at a time: there are few, each is short, and commits gather meanwhile.
    const chore = this.#chores.shift()
    if (chore) await pruneRows(this.#link, chore.slice, chore.rows).then(chore.resolve, chore.reject)
    else await this.#sendBatch(this.#waiting.splice(0, nextBatch(this.#waiting)))
    this.#busy = false
    if (this.#hasWork()) this.#schedule()
    else this.#whenIdle?.()
  }

  async #sendBatch(batch: readonly Waiting[]): Promise<void> {
    const { results, away } = await commitBatch(this.#link, batch)
    for (const [position, waiting] of batch.entries()) settle(waiting, results[position])
    if (away) for (const waiting of this.#waiting.splice(0)) settle(waiting, away)
  }
}

function settle({ call, index }: Pick<Waiting, 'call' | 'index'>, result: Outcome | StoreError | undefined): void {
  if (result === undefined) call.reject(new StoreError('outcome_unknown', 'The database did not answer for a unit.'))
  else if (result instanceof StoreError) call.reject(result)
  else {
    call.outcomes[index] = result
    call.missing--
    if (call.missing === 0) call.resolve(call.outcomes)
  }
}

const queueFull = (): StoreError =>
  new StoreError(
    'queue_full',
    `More than ${queuedUnits} units are waiting to be written, so the database does not keep up; try again later.`,
  )
