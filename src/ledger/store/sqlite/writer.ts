import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadArguments } from '#host/workers/thread-entry.ts'
import { queuedUnits } from '../../bounds.ts'
import { Gathering, nextBatch } from '../batching.ts'
import type { EntryFold } from '../entry-fold.ts'
import { LearntBalances } from '../known-balances.ts'
import { type Outcome, type PruneSlice, refusedByRule, StoreError } from '../store.ts'
import type { Unit } from '../units.ts'
import type { Failed } from './batch.ts'
import { resultsIn, type WriterAnswer, type WriterData, type WriterRequest } from './writer-messages.ts'

/** One call of `commit`: its units may be sent in several batches. */
interface Call {
  outcomes: Outcome[]
  missing: number
  resolve(outcomes: Outcome[]): void
  reject(error: StoreError): void
}

interface Waiting {
  unit: Unit
  call: Call
  index: number
}

interface Chore {
  request: Exclude<WriterRequest, { ask: 'commit' | 'close' }>
  resolve(rows: number): void
  reject(error: StoreError): void
}

type InFlight = { batch: Waiting[] } | { chore: Chore }

/**
 * The writer's objects live for one batch. Without this bound, V8 lets its young generation grow as if the thread were
 * the whole program, and under load the service keeps some 70 MB more.
 */
const youngMb = 12

/**
 * Group commit: units that gather until `setImmediate` go to the writer's thread as one batch in one COMMIT, one batch
 * at a time. Only while batches are large does it wait a moment for more; otherwise a timer would only add to the wait.
 */
export class SqliteWriter {
  /** Balances after everything that was acknowledged. */
  readonly balances = new LearntBalances()
  readonly #worker: Worker
  #waiting: Waiting[] = []
  #chores: Chore[] = []
  #inFlight: InFlight | null = null
  readonly #gathering = new Gathering(() => this.#send())
  /** Why nothing more is accepted. */
  #ended: StoreError | null = null
  #whenIdle: (() => void) | null = null

  private constructor(worker: Worker) {
    this.#worker = worker
    worker.on('message', (answer: WriterAnswer) => this.#settle(answer))
    worker.on('error', error => this.#die(error))
    worker.on('messageerror', error => this.#die(error))
    worker.on('exit', () => this.#die())
  }

  /** Resolves when the thread has its connection. */
  static async start(data: WriterData, url: URL): Promise<SqliteWriter> {
    const worker = new Worker(url, {
      workerData: data,
      name: 'store-writer',
      execArgv: threadArguments,
      resourceLimits: { maxYoungGenerationSizeMb: youngMb },
    })
    await new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(writerDead()))
    })
    return new SqliteWriter(worker)
  }

  commit(units: readonly Unit[]): Promise<Outcome[]> {
    if (this.#ended) return Promise.reject(this.#ended)
    if (units.length === 0) return Promise.resolve([])
    if (this.#waiting.length + units.length > queuedUnits) return Promise.reject(queueFull())
    return new Promise((resolve, reject) => {
      const call: Call = { outcomes: new Array(units.length), missing: units.length, resolve, reject }
      for (const [index, unit] of units.entries()) this.#waiting.push({ unit, call, index })
      this.#schedule()
    })
  }

  prune(slice: PruneSlice, rows: number): Promise<number> {
    return this.#askFor({ ask: 'prune', slice, rows })
  }

  async endHoldsOfOthers(owner: string, atMs: number): Promise<number> {
    try {
      return await this.#askFor({ ask: 'endHolds', owner, atMs })
    } finally {
      this.balances.forget()
    }
  }

  async foldEntries(fold: EntryFold): Promise<void> {
    await this.#askFor({ ask: 'fold', fold })
  }

  #askFor(request: Chore['request']): Promise<number> {
    if (this.#ended) return Promise.reject(this.#ended)
    return new Promise((resolve, reject) => {
      this.#chores.push({ request, resolve, reject })
      this.#schedule()
    })
  }

  /** Accepts nothing more, finishes what was accepted, closes the database. */
  async close(): Promise<void> {
    if (this.#ended) return
    this.#ended = new StoreError('closed', 'The store is closed; open it again to write.')
    if (this.#isBusy()) {
      await new Promise<void>(resolve => {
        this.#whenIdle = resolve
      })
    }
    if (this.#ended.kind !== 'closed') return
    const exit = once(this.#worker, 'exit')
    this.#worker.postMessage({ ask: 'close' } satisfies WriterRequest)
    await exit
  }

  #isBusy(): boolean {
    return this.#inFlight !== null || this.#waiting.length > 0 || this.#chores.length > 0
  }

  #schedule(): void {
    if (!this.#inFlight) this.#gathering.wait(this.#waiting.length, this.#chores.length > 0 || this.#ended !== null)
  }

  #send(): void {
    if (this.#inFlight) return
    // Chores come first and one at a time: there are few, each is short, and commits gather meanwhile.
    const chore = this.#chores.shift()
    if (chore) {
      this.#inFlight = { chore }
      this.#worker.postMessage(chore.request)
    } else if (this.#waiting.length > 0) {
      this.#sendBatch(this.#waiting.splice(0, nextBatch(this.#waiting)))
    }
  }

  #sendBatch(batch: Waiting[]): void {
    this.#inFlight = { batch }
    this.#gathering.sent(batch.length)
    try {
      this.#worker.postMessage({ ask: 'commit', units: batch.map(({ unit }) => unit) } satisfies WriterRequest)
    } catch {
      this.#inFlight = null
      // A unit that cannot be cloned, for example because it contains a function, must not fail the others.
      this.#waiting.unshift(...batch.filter(waiting => canTravel(waiting)))
      this.#goOn()
    }
  }

  #settle(answer: WriterAnswer): void {
    const inFlight = this.#inFlight
    this.#inFlight = null
    if (inFlight && 'batch' in inFlight) settleBatch(inFlight.batch, answer, this.balances)
    else if (inFlight) settleChore(inFlight.chore, answer)
    this.#goOn()
  }

  #goOn(): void {
    if (this.#isBusy()) this.#schedule()
    else this.#whenIdle?.()
  }

  #die(cause?: Error): void {
    const idle = !this.#isBusy()
    if (this.#ended?.kind === 'closed' && idle) return
    if (this.#ended?.kind === 'writer_dead') return
    this.#ended = writerDead(cause)
    const inFlight = this.#inFlight
    this.#inFlight = null
    if (inFlight && 'batch' in inFlight) for (const { call } of inFlight.batch) call.reject(outcomeUnknown(cause))
    else inFlight?.chore.reject(this.#ended)
    for (const { call } of this.#waiting.splice(0)) call.reject(this.#ended)
    for (const chore of this.#chores.splice(0)) chore.reject(this.#ended)
    this.#whenIdle?.()
  }
}

function settleBatch(batch: readonly Waiting[], answer: WriterAnswer, balances: LearntBalances): void {
  const results = answer.answer === 'outcomes' ? resultsIn(answer.list) : []
  for (const [position, { call, index }] of batch.entries()) {
    const result = results[position]
    if (!result) call.reject(outcomeUnknown())
    else if ('failed' in result) call.reject(failureOf(result))
    else {
      balances.learn(result)
      call.outcomes[index] = result
      call.missing--
      if (call.missing === 0) call.resolve(call.outcomes)
    }
  }
}

function failureOf({ failed, unknown, brokenRule, away }: Failed): StoreError {
  if (unknown) return outcomeUnknown(failed)
  if (away) return unreachable(failed)
  return brokenRule ? refusedByRule(failed) : unitFailed(failed)
}

function settleChore(chore: Chore, answer: WriterAnswer): void {
  if (answer.answer === 'done') chore.resolve(answer.rows)
  else chore.reject(unitFailed(answer.answer === 'failed' ? answer.message : answer.answer))
}

function canTravel({ unit, call }: Waiting): boolean {
  try {
    structuredClone(unit)
    return true
  } catch (cause) {
    call.reject(unitFailed(cause))
    return false
  }
}

const unitFailed = (cause: unknown): StoreError =>
  new StoreError('unit_failed', 'The store could not apply a unit; nothing was written. See the cause.', { cause })

const unreachable = (cause: unknown): StoreError =>
  new StoreError(
    'unreachable',
    'The ledger’s disk accepted no writes; free space or repair the disk, then try again.',
    { cause },
  )

const outcomeUnknown = (cause?: unknown): StoreError =>
  new StoreError(
    'outcome_unknown',
    'The store lost its writer during a commit; send the same units again after a restart to learn their outcome.',
    { cause },
  )

const writerDead = (cause?: unknown): StoreError =>
  new StoreError('writer_dead', "The store's writer has ended and nothing more is written; restart the service.", {
    cause,
  })

const queueFull = (): StoreError =>
  new StoreError(
    'queue_full',
    `More than ${queuedUnits} units are waiting to be written, so the disk cannot keep up; try again later.`,
  )
