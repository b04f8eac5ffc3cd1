import { z } from 'zod'
import { pictureAnswerBytes } from '../bounds.ts'
import { carriesAll } from '../carried-choices.ts'
import type { ImageCall, ImageEngine } from '../engine.ts'
import { OpenAiUpstream } from '../openai/upstream.ts'
import type { UpstreamOptions } from '../openai/upstream-options.ts'

const Answer = z.looseObject({ images: z.array(z.base64().min(1)).min(1) })

/** Another service of this contract: its own route for pictures takes every choice that ours has. */
export class ServiceImages implements ImageEngine {
  readonly carries = carriesAll
  readonly #upstream: OpenAiUpstream

  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: UpstreamOptions) {
    this.#upstream = new OpenAiUpstream(options, '/image/generate')
  }

  async generate({ request, engineModel, signal }: ImageCall): Promise<Buffer[]> {
    const body = { model: engineModel, ...bodyOf(request), return_binary: false }
    try {
      const value = await this.#upstream.json({ body, request: bodyOf(request), signal }, pictureAnswerBytes)
      const answer = Answer.safeParse(value).data
      if (!answer) throw new Error('The service answered no pictures.')
      return answer.images.map(image => Buffer.from(image, 'base64'))
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#upstream.close()
  }
}

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
  style,
}: ImageCall['request']) => ({
  prompt,
  width,
  height,
  variants: count,
  format,
  ...(negativePrompt === undefined ? {} : { negative_prompt: negativePrompt }),
  ...(seed === undefined ? {} : { seed }),
  ...(steps === undefined ? {} : { steps }),
  ...(cfgScale === undefined ? {} : { cfg_scale: cfgScale }),
  ...(style === undefined ? {} : { style_preset: style }),
})
