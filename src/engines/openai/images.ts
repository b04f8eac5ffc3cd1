import { FormData } from 'undici'
import { z } from 'zod'
import { listOf } from '#contract/schemas.ts'
import { OpenAiUpstream } from '../http/upstream.ts'
import { eventError } from '../http/upstream-error.ts'
import type { UpstreamOptions } from '../http/upstream-options.ts'
import { type Carries, carriesAllBut, type EditChoice, type ImageChoice } from '../ports/engine.ts'
import type { EditCall, EditEngine, EditRequest, ImageCall, ImageEngine } from '../ports/media-engines.ts'

/** Largest answer: four images of some megabytes each, as base64. */
export const imageAnswerBytes = 64 * 1024 * 1024

const Answer = z.looseObject({ data: listOf(z.looseObject({ b64_json: z.base64().min(1) })).min(1) })

export interface OpenAiImagesOptions extends UpstreamOptions {
  /** OpenAI’s newer models always return base64, and reject the member that asks for it. */
  lacksResponseFormat?: boolean
}

/** Any server with OpenAI's image generation API. An image that it returns as a URL is not fetched. */
export class OpenAiImages implements ImageEngine {
  /** OpenAI's `style` has two values of its own, which are not presets. */
  readonly carries = carriesAllBut<ImageChoice>('style_preset')
  readonly #upstream: OpenAiUpstream
  readonly #format: { response_format?: 'b64_json' }

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: OpenAiImagesOptions) {
    this.#upstream = new OpenAiUpstream(options, '/images/generations')
    this.#format = options.lacksResponseFormat ? {} : { response_format: 'b64_json' }
  }

  async generate({ request, engineModel, signal }: ImageCall): Promise<Buffer[]> {
    const body = { model: engineModel, ...bodyOf(request), ...this.#format }
    try {
      const value = await this.#upstream.json({ body, request: namesOf(request), signal }, imageAnswerBytes)
      if (value?.error && !value.data) throw eventError(value.error, namesOf(request))
      return imagesOf(value)
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

/** Returns the images of an answer. Throws if it has none. */
function imagesOf(value: unknown): Buffer[] {
  const answer = Answer.safeParse(value).data
  if (!answer) throw new Error('The engine returned no images.')
  return answer.data.map(({ b64_json }) => Buffer.from(b64_json, 'base64'))
}

/** OpenAI's own members, plus those of servers that support more, if the caller set them. */
const bodyOf = ({
  prompt,
  width,
  height,
  count,
  format,
  negativePrompt,
  seed,
  steps,
  cfgScale,
}: ImageCall['request']) => ({
  prompt,
  n: count,
  size: `${width}x${height}`,
  // All servers return PNG by default, and older ones do not know the member.
  ...(format === 'png' ? {} : { output_format: format }),
  ...(negativePrompt === undefined ? {} : { negative_prompt: negativePrompt }),
  ...(seed === undefined ? {} : { seed }),
  ...(steps === undefined ? {} : { steps }),
  ...(cfgScale === undefined ? {} : { cfg_scale: cfgScale }),
})

/** Members of the caller's request that an error of the server may name. */
const namesOf = (request: ImageCall['request']) => {
  const { n: _count, size: _size, output_format: _format, ...ours } = bodyOf(request)
  return ours
}

export interface OpenAiEditsOptions extends OpenAiImagesOptions {
  /** The size to request for a ratio; OpenAI’s own by default. */
  sizes?: Readonly<Record<string, string>>
}

const openAiSizes: Readonly<Record<string, string>> = { '1:1': '1024x1024', '3:2': '1536x1024', '2:3': '1024x1536' }

/** Any server with OpenAI's image edit API. An image that it returns as a URL is not fetched. */
export class OpenAiImageEdits implements EditEngine {
  /** A ratio is requested as a size; the form has no resolution. */
  readonly carries: Carries<EditChoice> = (field, value) =>
    field === 'aspect_ratio' ? Object.hasOwn(this.#sizes, String(value)) : field !== 'resolution'
  readonly #upstream: OpenAiUpstream
  readonly #sizes: Readonly<Record<string, string>>
  readonly #responseFormat: boolean

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: OpenAiEditsOptions) {
    this.#upstream = new OpenAiUpstream(options, '/images/edits')
    this.#sizes = options.sizes ?? openAiSizes
    this.#responseFormat = !options.lacksResponseFormat
  }

  async edit({ request, engineModel, signal }: EditCall): Promise<Buffer> {
    const { prompt } = request
    try {
      const body = this.#formOf(request, engineModel)
      const value = await this.#upstream.json({ body, request: { prompt }, signal }, imageAnswerBytes)
      if (value?.error && !value.data) throw eventError(value.error, { prompt })
      const [image] = imagesOf(value)
      if (!image) throw new Error('The engine returned no image.')
      return image
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }

  #formOf({ prompt, images, format, aspectRatio, quality }: EditRequest, engineModel: string): FormData {
    const form = new FormData()
    const size = aspectRatio === undefined ? undefined : this.#sizes[aspectRatio]
    const fields = {
      ...{ model: engineModel, prompt, n: '1' },
      ...(size === undefined ? {} : { size }),
      ...(quality === undefined ? {} : { quality }),
      // All servers return PNG by default, and older ones do not know the member.
      ...(format === 'png' ? {} : { output_format: format }),
      ...(this.#responseFormat ? { response_format: 'b64_json' } : {}),
    }
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    for (const { type, bytes } of images) {
      const file = new File([new Uint8Array(bytes)], `image.${type}`, { type: `image/${type}` })
      form.append(images.length > 1 ? 'image[]' : 'image', file)
    }
    return form
  }
}
