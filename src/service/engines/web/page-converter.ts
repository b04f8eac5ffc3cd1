import { Worker } from 'node:worker_threads'
import { modelOverloaded } from '#contract/errors.ts'
import { convertHeapMb, convertMs, pagesWaiting } from './bounds.ts'
import type { ConvertAnswer, ConvertRequest } from './page-thread-messages.ts'
import { pageThreadUrl } from './page-thread-url.ts'
import { PageUnread } from './page-unread.ts'

export interface ConvertedPage {
  title: string
  markdown: string
}

/**
 * Makes Markdown of pages on a thread of its own, one at a time: it computes for a second where others want answers, and
 * what strangers wrote may make it run on or out of memory. Then the thread is ended, and the next page gets another.
 */
export class PageConverter {
  readonly #timeoutMs: number
  #worker: Worker | null = null
  #waiting = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor({ timeoutMs = convertMs }: { timeoutMs?: number } = {}) {
    this.#timeoutMs = timeoutMs
  }

  /** Throws `PageUnread`, `modelOverloaded`, or a sentence that says what to install. */
  async convert(request: ConvertRequest): Promise<ConvertedPage> {
    if (this.#waiting >= pagesWaiting) throw modelOverloaded()
    this.#waiting++
    const work = this.#turn.then(() => this.#run(request))
    this.#turn = work.catch(() => undefined)
    try {
      const answer = await work
      if ('problem' in answer) throw new Error(answer.problem)
      if (!answer.page) throw new PageUnread('has no text that could be read')
      return answer.page
    } finally {
      this.#waiting--
    }
  }

  async close(): Promise<void> {
    await this.#end()
  }

  #run(request: ConvertRequest): Promise<ConvertAnswer> {
    this.#worker ??= startWorker()
    const worker = this.#worker
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => fail(new PageUnread('takes too long to be read')), this.#timeoutMs)
      const fail = (error: Error) => {
        finish()
        void this.#end()
        reject(error)
      }
      const died = () => fail(new PageUnread('is too much to be read'))
      const answered = (answer: ConvertAnswer) => {
        finish()
        resolve(answer)
      }
      const finish = () => {
        clearTimeout(timer)
        worker.unref()
        worker.off('message', answered).off('error', died).off('exit', died)
      }
      worker.on('message', answered).on('error', died).on('exit', died)
      worker.ref()
      worker.postMessage(request)
    })
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    // What it says while it ends is about a page that nobody waits for any more.
    worker?.on('error', () => undefined)
    await worker?.terminate()
  }
}

function startWorker(): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: convertHeapMb }
  const worker = new Worker(pageThreadUrl(), { name: 'pages', execArgv: [], resourceLimits })
  worker.unref()
  return worker
}
