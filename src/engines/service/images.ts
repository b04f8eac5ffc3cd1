import { z } from 'zod'
import { containsMinor, isAdultModelContentViolation, isBlurred, isContentViolation } from '#contract/wire/headers.ts'
import { defaultVendor, vendorHeader } from '#contract/wire/vendor.ts'
import { pictureAnswerBytes } from '../bounds.ts'
import { OpenAiUpstream } from '../http/upstream.ts'
import type { UpstreamOptions } from '../http/upstream-options.ts'
import { carriesAll } from '../ports/carried-choices.ts'
import type { EngineFinding, ImageCall, ImageEngine } from '../ports/image-engines.ts'

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

const Answer = z.looseObject({ images: z.array(z.base64().min(1)).min(1) })

/** Another service of this contract: its own route for pictures takes every choice that ours has. */
export class ServiceImages implements ImageEngine {
  readonly carries = carriesAll
  readonly #upstream: OpenAiUpstream
  readonly #vendor: string

  /** Throws one sentence where the address or the key cannot be used. */
  constructor({ vendor = defaultVendor, ...options }: UpstreamOptions & { vendor?: string }) {
    this.#vendor = vendor
    this.#upstream = new OpenAiUpstream(options, '/image/generate')
  }

  async generate({ request, engineModel, signal, found }: ImageCall): Promise<Buffer[]> {
    const body = { model: engineModel, ...bodyOf(request), return_binary: false }
    try {
      const onHeaders = (headers: AnswerHeaders) => found?.(findingOf(headers, this.#vendor))
      const value = await this.#upstream.json({ body, request: bodyOf(request), signal, onHeaders }, pictureAnswerBytes)
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
  safeMode,
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
  ...(safeMode === undefined ? {} : { safe_mode: safeMode }),
})

/** That service's own findings, of the headers that it sends. */
function findingOf(headers: AnswerHeaders, vendor: string): EngineFinding {
  const read = ({ name, parse }: typeof isBlurred) =>
    parse(String(headers[vendorHeader(name, vendor)] ?? '')) ?? undefined
  const told = {
    isBlurred: read(isBlurred),
    isViolation: read(isContentViolation),
    isAdultViolation: read(isAdultModelContentViolation),
    containsMinor: read(containsMinor),
  }
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined))
}
