import { Worker } from 'node:worker_threads'
import { callingAccount } from '../tracing/tracing.ts'
import { FairQueue, type Queued, queueIsFull } from './slots.ts'
import { threadArguments } from './thread-entry.ts'

/** Enough to finish a page, an image or some texts. */
const usualLeftMs = 2_000

export interface TaskThreadOptions {
  /** Shown in thread lists. */
  name: string
  url: URL
  /** A task that takes longer has hung. */
  timeoutMs: number
  /** Tasks that may wait; further ones are refused with a retry time. */
  waiting: number
  /** A task that needs more memory fails. */
  heapMb?: number
  /**
   * New objects of a thread take up to three times this much memory before they are collected; Node decides if absent.
   */
  youngMb?: number
  /** How long a task may continue after its caller has left: most end soon, and a new thread costs more. */
  leftMs?: number
  /** A thread without tasks for this long ends and frees its memory; the next task starts another. Never if absent. */
  idleMs?: number
}

/** A task ended without an answer: it took too long, or its thread died, for example out of memory. */
export class TaskFailed extends Error {
  override readonly name = 'TaskFailed'
  readonly reason: 'late' | 'died'

  constructor(reason: 'late' | 'died', cause?: unknown) {
    super(reason === 'late' ? 'The task took too long.' : 'The thread of the task ended.', { cause })
    this.reason = reason
  }
}

interface Waiting<Task, Answer> extends Queued {
  task: Task
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/**
 * A thread for long computations. It runs one task at a time; waiting accounts take turns, each with a share of the
 * queue. The thread starts with the first task and does not keep the process alive. A task that hangs, crashes or
 * continues too long after its caller has left ends the thread, and the next task starts a new one.
 */
export class TaskThread<Task, Answer> {
  readonly #options: TaskThreadOptions
  readonly #queue: FairQueue<Waiting<Task, Answer>>
  #worker: Worker | null = null
  #isBusy = false
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: TaskThreadOptions) {
    this.#options = options
    this.#queue = new FairQueue(options.waiting)
  }

  /** Throws `modelOverloaded` if too many wait, `TaskFailed`, or the signal's reason. */
  run(task: Task, signal?: AbortSignal): Promise<Answer> {
    const owner = callingAccount()
    if (this.#isClosed || !this.#queue.hasPlaceFor(owner)) return Promise.reject(queueIsFull())
    return new Promise((resolve, reject) => {
      this.#queue.add({ task, owner, signal, resolve, reject })
      void this.#workOff()
    })
  }

  /** Stops the thread; waiting tasks are refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idle)
    for (const { reject } of this.#queue.clear()) reject(queueIsFull())
    await this.#end()
  }

  async #workOff(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    clearTimeout(this.#idle)
    for (let next = this.#queue.next(); next; next = this.#queue.next()) {
      const { signal, reject } = next
      const worker = signal?.aborted ? null : this.#started(reject)
      if (signal?.aborted) reject(signal.reason)
      else if (worker) await this.#serve(worker, next)
    }
    this.#isBusy = false
    const { idleMs } = this.#options
    if (idleMs !== undefined && !this.#isClosed) this.#idle = setTimeout(() => void this.#end(), idleMs).unref()
  }

  /** Resolves when the thread is free again; if the caller leaves, it is not awaited. */
  async #serve(worker: Worker, { task, signal, resolve, reject }: Waiting<Task, Answer>): Promise<void> {
    const { timeoutMs, leftMs = usualLeftMs } = this.#options
    const answer = Promise.withResolvers<Answer>()
    // An answer to a task that could not be sent is not awaited; its thread ends anyway.
    answer.promise.catch(() => undefined)
    const giveUp = () => answer.reject(new TaskFailed('late'))
    const died = (cause: unknown) => answer.reject(new TaskFailed('died', cause))
    let late = setTimeout(giveUp, timeoutMs)
    const left = () => {
      reject(signal?.reason)
      clearTimeout(late)
      late = setTimeout(giveUp, leftMs)
    }
    worker.on('message', answer.resolve).on('error', died).on('exit', died)
    signal?.addEventListener('abort', left, { once: true })
    try {
      worker.ref()
      worker.postMessage(task)
      resolve(await answer.promise)
    } catch (error) {
      await this.#end()
      reject(error)
    } finally {
      clearTimeout(late)
      signal?.removeEventListener('abort', left)
      worker.off('message', answer.resolve).off('error', died).off('exit', died)
      worker.unref()
    }
  }

  /** Returns null if the system can't start a thread: this task fails, and the next one tries again. */
  #started(reject: (error: unknown) => void): Worker | null {
    try {
      this.#worker ??= this.#start()
    } catch (error) {
      reject(new TaskFailed('died', error))
    }
    return this.#worker
  }

  #start(): Worker {
    const { name, url, heapMb, youngMb } = this.#options
    const resourceLimits = {
      ...(heapMb === undefined ? {} : { maxOldGenerationSizeMb: heapMb }),
      ...(youngMb === undefined ? {} : { maxYoungGenerationSizeMb: youngMb }),
    }
    const worker = new Worker(url, { name, execArgv: threadArguments, resourceLimits })
    worker.unref()
    // The thread may also end between two tasks; then the next one gets a new thread.
    worker
      .on('error', () => undefined)
      .on('exit', () => {
        if (this.#worker === worker) this.#worker = null
      })
    return worker
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }
}
