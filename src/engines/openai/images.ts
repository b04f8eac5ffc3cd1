import { z } from 'zod'
import { pictureAnswerBytes } from '../bounds.ts'
import { carriesAllBut, type ImageChoice } from '../ports/carried-choices.ts'
import type { ImageCall, ImageEngine } from '../ports/image-engines.ts'
import { OpenAiUpstream } from './upstream.ts'
import { eventError } from './upstream-error.ts'
import type { UpstreamOptions } from './upstream-options.ts'

const Answer = z.looseObject({ data: z.array(z.looseObject({ b64_json: z.base64().min(1) })).min(1) })

/** Any server that speaks OpenAI's image generation. A picture by its address is not fetched. */
export class OpenAiImages implements ImageEngine {
  /** OpenAI's `style` has two words of its own, which are no presets. */
  readonly carries = carriesAllBut<ImageChoice>('style_preset')
  readonly #upstream: OpenAiUpstream

  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: UpstreamOptions) {
    this.#upstream = new OpenAiUpstream(options, '/images/generations')
  }

  async generate({ request, engineModel, signal }: ImageCall): Promise<Buffer[]> {
    const body = { model: engineModel, ...bodyOf(request), response_format: 'b64_json' }
    try {
      const value = await this.#upstream.json({ body, request: namesOf(request), signal }, pictureAnswerBytes)
      if (value?.error && !value.data) throw eventError(value.error, namesOf(request))
      return picturesOf(value)
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#upstream.close()
  }
}

/** Those of an answer. Throws where it has none. */
export function picturesOf(value: unknown): Buffer[] {
  const answer = Answer.safeParse(value).data
  if (!answer) throw new Error('The engine answered no pictures.')
  return answer.data.map(({ b64_json }) => Buffer.from(b64_json, 'base64'))
}

/** OpenAI's own members, and beside them those of the servers that take more, where the caller asked for them. */
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
  // PNG is what all of them answer by themselves; older servers know no other word.
  ...(format === 'png' ? {} : { output_format: format }),
  ...(negativePrompt === undefined ? {} : { negative_prompt: negativePrompt }),
  ...(seed === undefined ? {} : { seed }),
  ...(steps === undefined ? {} : { steps }),
  ...(cfgScale === undefined ? {} : { cfg_scale: cfgScale }),
})

/** The caller's members that an error of the server may name. */
const namesOf = (request: ImageCall['request']) => {
  const { n: _count, size: _size, output_format: _format, ...ours } = bodyOf(request)
  return ours
}
