import { z } from 'zod'
import { optionalPackage } from '#host/optional-package.ts'
import { OpenAiUpstream } from '../openai/upstream.ts'
import type { UpstreamOptions } from '../openai/upstream-options.ts'
import { moderationAnswerBytes, sentPixels } from './bounds.ts'
import type { ImageFinding, Moderator } from './moderator.ts'

/** OpenAI's names of sexual content; a server may have others. */
const adultCategory = 'sexual'
const minorCategory = 'sexual/minors'

const Result = z.looseObject({
  categories: z.record(z.string(), z.boolean().nullable()),
  /** Which categories were looked for in which inputs; OpenAI's own model looks for minors in text alone. */
  category_applied_input_types: z.record(z.string(), z.array(z.string()).nullable()).nullish(),
})
const Answer = z.looseObject({ results: z.array(Result).min(1) })

interface Image {
  resize(width: number, height: number, how: { fit: 'inside'; withoutEnlargement: true }): Image
  jpeg(): Image
  toBuffer(): Promise<Buffer>
}

export interface OpenAiModeratorOptions extends UpstreamOptions {
  /** What the server calls its model. */
  model: string
}

/** Any server with OpenAI's `/moderations` for images. It gets a smaller JPEG of each image, and no word of the caller. */
export class OpenAiModerator implements Moderator {
  readonly #upstream: OpenAiUpstream
  readonly #model: string

  /** Throws one sentence where the address or the key cannot be used. */
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
