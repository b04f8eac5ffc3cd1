import { z } from 'zod'
import { optionalPackage } from '#host/packages.ts'
import { TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { OpenAiUpstream } from '../http/upstream.ts'
import type { UpstreamOptions } from '../http/upstream-options.ts'
import type { ImageFinding, Moderator } from '../ports/media-engines.ts'
import type { NsfwAnswer } from './nsfw-thread.ts'

/**
 * Timeout of one image on the local model: it takes 60 to 120 ms, the first one also loads the model, and the machine
 * may be busy.
 */
const judgeMs = 30_000

/** Images that may wait for the thread. A request has four at most, and callers beyond the limit are told to retry. */
const judgementsWaiting = 100

/** Memory of the thread, in addition to the 200 MB that the model keeps outside it. */
const threadHeapMb = 512

/** Score of the local model from which an image counts as sexual; a drawing of a body reaches a third of it. */
export const adultThreshold = 0.6

/** Largest answer of a moderation server; it has some 20 categories. */
const moderationAnswerBytes = 256 * 1024

/** Longer side of the copy for a moderation server; more pixels take time without changing the result. */
const sentPixels = 1_024

/** OpenAI's category of sexual content; a server may have others. */
const adultCategory = 'sexual'
const minorCategory = 'sexual/minors'

const Result = z.looseObject({
  categories: z.record(z.string(), z.boolean().nullable()),
  /** Which categories were checked for which inputs; OpenAI's own model checks for minors only in text. */
  category_applied_input_types: z.record(z.string(), z.array(z.string()).nullable()).nullish(),
})
const Answer = z.looseObject({ results: z.array(Result).min(1) })

interface Image {
  resize(width: number, height: number, how: { fit: 'inside'; withoutEnlargement: true }): Image
  jpeg(): Image
  toBuffer(): Promise<Buffer>
}

export interface OpenAiModeratorOptions extends UpstreamOptions {
  /** The server's name of its model. */
  model: string
}

/**
 * Uses any server with OpenAI's `/moderations` for images. The server gets a smaller JPEG of each image, and none of
 * the caller's text.
 */
export class OpenAiModerator implements Moderator {
  readonly #upstream: OpenAiUpstream
  readonly #model: string

  /** Throws one sentence if the address or the key is invalid. */
  constructor({ model, ...options }: OpenAiModeratorOptions) {
    this.#upstream = new OpenAiUpstream(options, '/moderations')
    this.#model = model
  }

  async judge(image: Uint8Array, signal: AbortSignal): Promise<ImageFinding> {
    const url = `data:image/jpeg;base64,${(await smaller(image)).toString('base64')}`
    const body = { model: this.#model, input: [{ type: 'image_url', image_url: { url } }] }
    try {
      const value = await this.#upstream.json({ body, request: body, signal }, moderationAnswerBytes)
      const [result] = Answer.parse(value).results
      return findingOf(result as z.output<typeof Result>)
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

function findingOf({ categories, category_applied_input_types: types }: z.output<typeof Result>): ImageFinding {
  const looksForMinors = types?.[minorCategory]?.includes('image') === true
  const others = Object.entries(categories).filter(([name]) => name !== adultCategory && name !== minorCategory)
  const isMinor = categories[minorCategory] === true
  return {
    isAdult: categories[adultCategory] === true || isMinor,
    isViolation: isMinor || others.some(([, isFlagged]) => isFlagged === true),
    containsMinor: looksForMinors ? isMinor : null,
  }
}

async function smaller(image: Uint8Array): Promise<Buffer> {
  const { default: sharp } = await optionalPackage<{ default: (bytes: Uint8Array) => Image }>('sharp', 'Moderation')
  return sharp(image).resize(sentPixels, sentPixels, { fit: 'inside', withoutEnlargement: true }).jpeg().toBuffer()
}

/**
 * Detects sexual content with the model of `nsfwjs`, on its own thread. The model does not detect age or violations of
 * other policies. Needs `nsfwjs`, `sharp` and three packages of TensorFlow.js.
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
