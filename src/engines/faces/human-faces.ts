import { TaskThread } from '#host/threads/task-thread.ts'
import { threadUrl } from '#host/threads/thread-url.ts'
import { lookMs, looksWaiting, threadHeapMb } from './bounds.ts'
import type { FaceDetector, FaceMedium } from './face-detector.ts'
import type { FaceAnswer } from './face-thread.ts'
import { VideoFrames } from './video-frames.ts'

export interface HumanFacesOptions {
  /** Why a medium could not be looked at, for a log. It counted as one with a face. */
  onProblem?: (problem: unknown) => void
}

/**
 * Looks for faces with `@vladmandic/human` and `sharp`, on a thread of its own. Whatever cannot be looked at, because a
 * package is missing for one, counts as a medium with a face.
 */
export class HumanFaces implements FaceDetector {
  readonly #thread: TaskThread<Uint8Array, FaceAnswer>
  readonly #frames = new VideoFrames()
  readonly #closing = new AbortController()
  readonly #onProblem: (problem: unknown) => void

  constructor({ onProblem = () => undefined }: HumanFacesOptions = {}) {
    const url = threadUrl('face-thread', import.meta.url)
    const bounds = { timeoutMs: lookMs, waiting: looksWaiting, heapMb: threadHeapMb }
    this.#thread = new TaskThread({ name: 'faces', url, ...bounds })
    this.#onProblem = onProblem
  }

  async hasFace(medium: FaceMedium, signal?: AbortSignal): Promise<boolean> {
    const over = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
    const shows = (picture: Uint8Array) => this.#shows(picture, over)
    try {
      return await (medium.kind === 'image' ? shows(medium.bytes) : this.#frames.some(medium, shows, over))
    } catch (error) {
      signal?.throwIfAborted()
      this.#onProblem(error)
      return true
    }
  }

  close(): Promise<void> {
    this.#closing.abort()
    return this.#thread.close()
  }

  async #shows(picture: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#thread.run(picture, signal)
    if ('problem' in answer) throw new Error(answer.problem)
    return answer.hasFace
  }
}
