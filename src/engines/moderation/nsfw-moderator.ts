import { TaskThread } from '#host/threads/task-thread.ts'
import { threadUrl } from '#host/threads/thread-url.ts'
import { adultThreshold, judgeMs, judgementsWaiting, threadHeapMb } from './bounds.ts'
import type { ImageFinding, Moderator } from './moderator.ts'
import type { NsfwAnswer } from './nsfw-thread.ts'

/**
 * Finds sexual content with the model of `nsfwjs`, on a thread of its own. It knows nothing of ages or of other policies.
 * Needs `nsfwjs`, `sharp` and three packages of TensorFlow.js.
 */
export class NsfwModerator implements Moderator {
  readonly #thread: TaskThread<Uint8Array, NsfwAnswer>
  readonly #threshold: number

  constructor({ threshold = adultThreshold }: { threshold?: number } = {}) {
    const url = threadUrl('nsfw-thread', import.meta.url)
    const bounds = { timeoutMs: judgeMs, waiting: judgementsWaiting, heapMb: threadHeapMb }
    this.#thread = new TaskThread({ name: 'moderation', url, ...bounds })
    this.#threshold = threshold
  }

  async judge(image: Uint8Array, signal: AbortSignal): Promise<ImageFinding> {
    const answer = await this.#thread.run(image, signal)
    if ('problem' in answer) throw new Error(answer.problem)
    return { isAdult: answer.adult >= this.#threshold, isViolation: null, containsMinor: null }
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
