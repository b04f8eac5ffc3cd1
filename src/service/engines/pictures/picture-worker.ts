import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { corruptedImage, modelOverloaded } from '#contract/errors.ts'
import { picturesWaiting, pictureTaskMs } from '../bounds.ts'
import type { PictureAnswer, PictureTask } from './picture-task.ts'
import { pictureThreadUrl } from './picture-thread-url.ts'

interface Waiting {
  task: PictureTask
  signal: AbortSignal
  resolve(bytes: Buffer): void
  reject(error: unknown): void
}

/**
 * One thread on which pictures are decoded, changed and encoded, one after the other: a large one takes seconds, in which
 * nobody else would be answered. It starts with the first task and keeps no process alive.
 */
export class PictureWorker {
  readonly #timeoutMs: number
  #worker: Worker | null = null
  #waiting: Waiting[] = []
  #isBusy = false
  #isClosed = false

  constructor(options: { timeoutMs?: number } = {}) {
    this.#timeoutMs = options.timeoutMs ?? pictureTaskMs
  }

  /** Throws `modelOverloaded` where too many wait, `corruptedImage`, and an error with what else went wrong. */
  run(task: PictureTask, signal: AbortSignal): Promise<Buffer> {
    if (this.#isClosed || this.#waiting.length >= picturesWaiting) return Promise.reject(modelOverloaded())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, signal, resolve, reject })
      void this.#workOff()
    })
  }

  /** Ends the thread; what waits is refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(modelOverloaded())
    await this.#endThread()
  }

  async #workOff(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const { signal, resolve, reject } = next
      if (signal.aborted) reject(signal.reason)
      else await this.#do(next).then(resolve, reject)
    }
    this.#isBusy = false
  }

  async #do({ task, signal }: Waiting): Promise<Buffer> {
    const answer = await this.#ask(task, signal)
    if (answer.ok) return Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.byteLength)
    if (answer.isUnreadable) throw corruptedImage({ error: 'The image file is corrupted or unreadable' })
    throw new Error(answer.message)
  }

  /** A thread that is late, or whose caller has left, is ended: it would go on with what nobody wants. */
  async #ask(task: PictureTask, signal: AbortSignal): Promise<PictureAnswer> {
    const worker = this.#thread()
    const answered = new AbortController()
    const over = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs), answered.signal])
    worker.ref()
    worker.postMessage(task)
    try {
      const [answer] = await Promise.race([once(worker, 'message', { signal: over }), exitOf(worker, over)])
      return answer
    } catch (error) {
      if (over.aborted) await this.#endThread()
      throw signal.aborted ? signal.reason : error
    } finally {
      answered.abort()
      worker.unref()
    }
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker
    const worker = new Worker(pictureThreadUrl(), { name: 'pictures', execArgv: [] })
    worker.unref()
    const forget = () => {
      if (this.#worker === worker) this.#worker = null
    }
    // An error ends the thread; whoever waits for it is told, and the next task starts another.
    worker.on('error', forget).on('exit', forget)
    this.#worker = worker
    return worker
  }

  async #endThread(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }
}

/** Rejects when the thread ends before it has answered. */
async function exitOf(worker: Worker, signal: AbortSignal): Promise<never> {
  await once(worker, 'exit', { signal })
  throw new Error('The thread that works on pictures ended.')
}
