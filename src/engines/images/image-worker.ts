import { corruptedImage } from '#contract/errors/errors.ts'
import { TaskThread } from '#host/threads/task-thread.ts'

/** Images that wait for a thread; each may have some tens of megabytes. */
const imagesWaiting = 16

/** One task; the largest image that a local model takes needs some ten seconds. */
const imageTaskMs = 120_000

export type ImageAnswer = { ok: true; bytes: Uint8Array } | { ok: false; isUnreadable: boolean; message: string }

/** One thread on which images are decoded, changed and encoded: a large one takes seconds. Each engine has its own file for it. */
export class ImageWorker<Task> {
  readonly #thread: TaskThread<Task, ImageAnswer>

  /** The file answers with `answerImageTasks`. */
  constructor(url: URL) {
    this.#thread = new TaskThread({ name: 'images', url, timeoutMs: imageTaskMs, waiting: imagesWaiting })
  }

  /** Throws `modelOverloaded` when too many wait, `corruptedImage`, and an error with what else went wrong. */
  async run(task: Task, signal: AbortSignal): Promise<Buffer> {
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
