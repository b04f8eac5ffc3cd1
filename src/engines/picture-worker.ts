import { corruptedImage } from '#contract/errors/errors.ts'
import { TaskThread } from '#host/threads/task-thread.ts'
import { threadUrl } from '#host/threads/thread-url.ts'
import { picturesWaiting, pictureTaskMs } from './bounds.ts'
import type { PictureAnswer, PictureTask } from './picture-task.ts'

/** One thread on which pictures are decoded, changed and encoded: a large one takes seconds. */
export class PictureWorker {
  readonly #thread = new TaskThread<PictureTask, PictureAnswer>({
    name: 'pictures',
    url: threadUrl('picture-thread', import.meta.url),
    timeoutMs: pictureTaskMs,
    waiting: picturesWaiting,
  })

  /** Throws `modelOverloaded` where too many wait, `corruptedImage`, and an error with what else went wrong. */
  async run(task: PictureTask, signal: AbortSignal): Promise<Buffer> {
    const answer = await this.#thread.run(task, signal)
    if (answer.ok) return Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.byteLength)
    if (answer.isUnreadable) throw corruptedImage({ error: 'The image file is corrupted or unreadable' })
    throw new Error(answer.message)
  }

  /** Ends the thread; what waits is refused. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}
