import { Worker } from 'node:worker_threads'
import { callingAccount } from '../tracing/tracing.ts'
import { FairQueue, type Queued, queueIsFull } from './slots.ts'

/** Enough to finish a page, an image or some texts. */
const usualLeftMs = 2_000

export interface TaskThreadOptions {
  /** Shown in thread lists. */
  name: string
  url: URL
  /** A task that takes longer has hung. */
  timeoutMs: number
  /** Tasks that may wait; more are refused with a retry time. */
  waiting: number
  /** A task that needs more memory fails. */
  heapMb?: number
  /** How long a task may run on after its caller has gone: most end soon, and a new thread costs more. */
  leftMs?: number
}

/** A task that ended without an answer: it took too long, or its thread died of it, of memory for one. */
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
 * queue. The thread starts with the first task and keeps no process alive. A task that hangs, crashes or runs on too long
 * after its caller has gone ends the thread, and the next task starts a new one.
 */
export class TaskThread<Task, Answer> {
  readonly #options: TaskThreadOptions
  readonly #queue: FairQueue<Waiting<Task, Answer>>
  #worker: Worker | null = null
  #isBusy = false
  #isClosed = false

  constructor(options: TaskThreadOptions) {
    this.#options = options
    this.#queue = new FairQueue(options.waiting)
  }

  /** Throws `modelOverloaded` where too many wait, `TaskFailed`, or the signal's reason. */
  run(task: Task, signal?: AbortSignal): Promise<Answer> {
    const owner = callingAccount()
    if (this.#isClosed || !this.#queue.hasPlaceFor(owner)) return Promise.reject(queueIsFull())
    return new Promise((resolve, reject) => {
      this.#queue.add({ task, owner, signal, resolve, reject })
      void this.#workOff()
    })
  }

  /** Ends the thread; what waits is refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#queue.clear()) reject(queueIsFull())
    await this.#end()
  }

  async #workOff(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    for (let next = this.#queue.next(); next; next = this.#queue.next()) {
      const { signal, reject } = next
      const worker = signal?.aborted ? null : this.#started(reject)
      if (signal?.aborted) reject(signal.reason)
      else if (worker) await this.#serve(worker, next)
    }
    this.#isBusy = false
  }

  /** Resolves when the thread is free again; a caller who leaves does not wait for that. */
  async #serve(worker: Worker, { task, signal, resolve, reject }: Waiting<Task, Answer>): Promise<void> {
    const { timeoutMs, leftMs = usualLeftMs } = this.#options
    const answer = Promise.withResolvers<Answer>()
    // What could not be sent is not awaited, and its thread ends all the same.
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

  /** Null when the system can't start a thread: this task fails, and the next one tries again. */
  #started(reject: (error: unknown) => void): Worker | null {
    try {
      this.#worker ??= this.#start()
    } catch (error) {
      reject(new TaskFailed('died', error))
    }
    return this.#worker
  }

  #start(): Worker {
    const { name, url, heapMb } = this.#options
    const limits = heapMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMb } }
    const worker = new Worker(url, { name, execArgv: [], ...limits })
    worker.unref()
    // Between two tasks it may end too; the next one then gets another.
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
