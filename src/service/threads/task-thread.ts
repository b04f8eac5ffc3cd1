import { Worker } from 'node:worker_threads'
import { modelOverloaded } from '#contract/errors.ts'

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

interface Waiting<Task, Answer> {
  task: Task
  signal: AbortSignal | undefined
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/**
 * A thread for what computes for so long that others would wait: one task after the other, in the order in which they
 * came. It starts with the first and keeps no process alive. One that hangs, dies or is not wanted any more ends its
 * thread, and the next task gets another.
 */
export class TaskThread<Task, Answer> {
  readonly #options: TaskThreadOptions
  readonly #waiting: Waiting<Task, Answer>[] = []
  #worker: Worker | null = null
  #isBusy = false
  #isClosed = false

  constructor(options: TaskThreadOptions) {
    this.#options = options
  }

  /** Throws `modelOverloaded` where too many wait, `TaskFailed`, or the signal's reason. */
  run(task: Task, signal?: AbortSignal): Promise<Answer> {
    if (this.#isClosed || this.#waiting.length >= this.#options.waiting) return Promise.reject(modelOverloaded())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, signal, resolve, reject })
      void this.#workOff()
    })
  }

  /** Ends the thread; what waits is refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(modelOverloaded())
    await this.#end()
  }

  async #workOff(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const { task, signal, resolve, reject } = next
      if (signal?.aborted) reject(signal.reason)
      else await this.#ask(task, signal).then(resolve, reject)
    }
    this.#isBusy = false
  }

  async #ask(task: Task, signal: AbortSignal | undefined): Promise<Answer> {
    this.#worker ??= this.#start()
    const worker = this.#worker
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const late = setTimeout(() => reject(new TaskFailed('late')), this.#options.timeoutMs)
    const left = () => reject(signal?.reason)
    const died = (cause: unknown) => reject(new TaskFailed('died', cause))
    worker.on('message', resolve).on('error', died).on('exit', died)
    signal?.addEventListener('abort', left, { once: true })
    worker.ref()
    worker.postMessage(task)
    try {
      return await promise
    } catch (error) {
      await this.#end()
      throw error
    } finally {
      clearTimeout(late)
      signal?.removeEventListener('abort', left)
      worker.off('message', resolve).off('error', died).off('exit', died)
      worker.unref()
    }
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
