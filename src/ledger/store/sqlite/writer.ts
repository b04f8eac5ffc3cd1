import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { RecentMap } from '#host/recent-map.ts'
import { threadArguments } from '#host/workers/thread-entry.ts'
import { balanceKnownForMs, knownRowsMost } from '../../bounds.ts'
import { type Chore, GroupCommit, type QueuedUnit, settle, type UnitPlace } from '../group-commit.ts'
import {
  type Balance,
  type EntryFold,
  type KnownBalances,
  type Outcome,
  type PruneSlice,
  refusedByRule,
  StoreError,
} from '../store.ts'
import type { Unit } from '../units.ts'
import type { Failed } from './batch.ts'
import { resultsIn, type WriterAnswer, type WriterData, type WriterRequest } from './writer-messages.ts'

type Order = Exclude<WriterRequest, { ask: 'commit' | 'close' }>

type InFlight = { batch: QueuedUnit[] } | { chore: Chore<Order> }

/**
 * The writer's objects live for one batch. Without this bound, V8 lets its young generation grow as if the thread were
 * the whole program, and under load the service keeps some 70 MB more.
 */
const youngMb = 12

/** Gathered units go to the writer's thread as one batch in one COMMIT. */
export class SqliteWriter extends GroupCommit<QueuedUnit, Order> {
  /** Balances after everything that was acknowledged. */
  readonly balances = new LearntBalances()
  readonly #worker: Worker
  #inFlight: InFlight | null = null

  private constructor(worker: Worker) {
    super('disk')
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

  prune(slice: PruneSlice, rows: number): Promise<number> {
    return this.ask({ ask: 'prune', slice, rows })
  }

  async endHoldsOfOthers(owner: string, atMs: number): Promise<number> {
    try {
      return await this.ask({ ask: 'endHolds', owner, atMs })
    } finally {
      this.balances.forget()
    }
  }

  async foldEntries(fold: EntryFold): Promise<void> {
    await this.ask({ ask: 'fold', fold })
  }

  /** Accepts nothing more, finishes what was accepted, closes the database. */
  async close(): Promise<void> {
    if (!(await this.finish()) || this.ended?.kind !== 'closed') return
    const exit = once(this.#worker, 'exit')
    this.#worker.postMessage({ ask: 'close' } satisfies WriterRequest)
    await exit
  }

  protected override take(unit: Unit, { call, index }: UnitPlace): void {
    this.waiting.push({ unit, call, index })
  }

  protected override sendChore(chore: Chore<Order>): void {
    this.#inFlight = { chore }
    this.#worker.postMessage(chore.order)
  }

  protected override sendBatch(batch: QueuedUnit[]): void {
    this.#inFlight = { batch }
    try {
      this.#worker.postMessage({ ask: 'commit', units: batch.map(({ unit }) => unit) } satisfies WriterRequest)
    } catch {
      this.#inFlight = null
      // A unit that cannot be cloned, for example because it contains a function, must not fail the others.
      this.waiting.unshift(...batch.filter(waiting => canTravel(waiting)))
      this.sent()
    }
  }

  #settle(answer: WriterAnswer): void {
    const inFlight = this.#inFlight
    this.#inFlight = null
    if (inFlight && 'batch' in inFlight) settleBatch(inFlight.batch, answer, this.balances)
    else if (inFlight) settleChore(inFlight.chore, answer)
    this.sent()
  }

  #die(cause?: Error): void {
    if (this.ended?.kind === 'closed' && !this.isBusy) return
    if (this.ended?.kind === 'writer_dead') return
    this.ended = writerDead(cause)
    const inFlight = this.#inFlight
    this.#inFlight = null
    if (inFlight && 'batch' in inFlight) for (const { call } of inFlight.batch) call.reject(outcomeUnknown(cause))
    else inFlight?.chore.reject(this.ended)
    for (const { call } of this.waiting.splice(0)) call.reject(this.ended)
    for (const chore of this.chores.splice(0)) chore.reject(this.ended)
    this.sent()
  }
}

function settleBatch(batch: readonly QueuedUnit[], answer: WriterAnswer, balances: LearntBalances): void {
  const results = answer.answer === 'outcomes' ? resultsIn(answer.list) : []
  for (const [position, place] of batch.entries()) {
    const result = results[position]
    if (!result) place.call.reject(outcomeUnknown())
    else if ('failed' in result) place.call.reject(failureOf(result))
    else {
      balances.learn(result)
      settle(place, result)
    }
  }
}

function failureOf({ failed, unknown, brokenRule, away }: Failed): StoreError {
  if (unknown) return outcomeUnknown(failed)
  if (away) return unreachable(failed)
  return brokenRule ? refusedByRule(failed) : unitFailed(failed)
}

function settleChore(chore: Chore<Order>, answer: WriterAnswer): void {
  if (answer.answer === 'done') chore.resolve(answer.rows)
  else chore.reject(unitFailed(answer.answer === 'failed' ? answer.message : answer.answer))
}

function canTravel({ unit, call }: QueuedUnit): boolean {
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

interface Known {
  balance: Balance
  atMs: number
}

/**
 * Balances as this process's own units left them. Almost every request reads a balance that its account's previous
 * request has just reported. Only for a store to which no other process writes.
 */
export class LearntBalances implements KnownBalances {
  readonly #known = new RecentMap<Known>(knownRowsMost)
  #changes = 0

  get(account: string): Balance | undefined {
    const known = this.#known.get(account)
    return known && performance.now() - known.atMs <= balanceKnownForMs ? known.balance : undefined
  }

  /** Must be called in the order of the commits. The first outcome of a repeated unit is old, so it changes nothing. */
  learn(outcome: Outcome): void {
    if (!outcome.ok || outcome.again) return
    this.#changes++
    for (const balance of outcome.balances) this.#keep(balance)
  }

  /** Call this after rows were written other than by units. */
  forget(): void {
    this.#changes++
    this.#known.clear()
  }

  /** A read is not cached if an outcome arrived in the meantime, because the outcome may be newer. */
  async read(readNow: () => Promise<Balance | null>): Promise<Balance | null> {
    const before = this.#changes
    const balance = await readNow()
    if (balance && before === this.#changes) this.#keep(balance)
    return balance
  }

  #keep(balance: Balance): void {
    this.#known.set(balance.account, { balance, atMs: performance.now() })
  }
}
