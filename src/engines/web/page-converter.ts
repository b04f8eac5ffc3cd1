import { TaskFailed, TaskThread } from '#host/threads/task-thread.ts'
import { threadUrl } from '#host/threads/thread-url.ts'
import { convertHeapMb, convertMs, pagesWaiting } from './bounds.ts'
import type { ConvertAnswer, ConvertRequest } from './page-thread-messages.ts'
import { PageUnread } from './page-unread.ts'

export interface ConvertedPage {
  title: string
  markdown: string
}

/** Makes Markdown of pages on a thread: what strangers wrote may make it run on, or out of memory. */
export class PageConverter {
  readonly #thread: TaskThread<ConvertRequest, ConvertAnswer>

  constructor({ timeoutMs = convertMs }: { timeoutMs?: number } = {}) {
    const url = threadUrl('page-thread', import.meta.url)
    this.#thread = new TaskThread({ name: 'pages', url, timeoutMs, waiting: pagesWaiting, heapMb: convertHeapMb })
  }

  /** Throws `PageUnread`, `modelOverloaded`, the signal's reason, or a sentence that says what to install. */
  async convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertedPage> {
    const answer = await this.#thread.run(request, signal).catch(unread)
    if ('problem' in answer) throw new Error(answer.problem)
    if ('tooDeep' in answer) throw new PageUnread('is nested too deeply to be read')
    if (!answer.page) throw new PageUnread('has no text that could be read')
    return answer.page
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

function unread(error: unknown): never {
  if (!(error instanceof TaskFailed)) throw error
  throw new PageUnread(error.reason === 'late' ? 'takes too long to be read' : 'is too much to be read')
}
