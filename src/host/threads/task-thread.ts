import { Worker } from 'node:worker_threads'
import { FairLine, type InLine, lineIsFull } from '../fair-line.ts'
import { callingAccount } from '../tracing/tracing.ts'

/** Of a page, a picture or some texts. */
const usualLeftMs = 2_000

export interface TaskThreadOptions {
  /** In lists of threads. */
  name: string
  url: URL
  /** A task that takes longer has hung. */
  timeoutMs: number
  /** Tasks that wait; who comes after them is told to come again. */
  waiting: number
  /** A task that needs more is given up. */
  heapMb?: number
  /** How long a task whose caller has left may go on: most end soon, and a new thread costs more than that. */
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

interface Waiting<Task, Answer> extends InLine {
  task: Task
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/**
 * A thread for what computes for so long that others would wait: one task after the other, in the order in which they
 * came, and one account after the other where several wait, none of which has more than a share of the places. It starts
 * with the first and keeps no process alive. One that hangs or dies ends its thread, and so does one that goes on for too
 * long after its caller has left; the next task gets another.
 */
export class TaskThread<Task, Answer> {
  readonly #options: TaskThreadOptions
  readonly #line: FairLine<Waiting<Task, Answer>>
  #worker: Worker | null = null
  #isBusy = false
  #isClosed = false

  constructor(options: TaskThreadOptions) {
    this.#options = options
    this.#line = new FairLine(options.waiting)
  }

  /** Throws `modelOverloaded` where too many wait, `TaskFailed`, or the signal's reason. */
  run(task: Task, signal?: AbortSignal): Promise<Answer> {
    const owner = callingAccount()
    if (this.#isClosed || !this.#line.hasPlaceFor(owner)) return Promise.reject(lineIsFull())
    return new Promise((resolve, reject) => {
      this.#line.add({ task, owner, signal, resolve, reject })
      void this.#workOff()
    })
  }

  /** Ends the thread; what waits is refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#line.clear()) reject(lineIsFull())
    await this.#end()
  }

  async #workOff(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    for (let next = this.#line.next(); next; next = this.#line.next()) {
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

  /** Null where the system gives none: that task fails alone, and the next one tries anew. */
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
