import type { z } from 'zod'
import { type ModelRecord, tokenPricing, type UnitPricing } from '#contract/operations/models.ts'
import { unitPricesShown } from './bounds.ts'
import { strangeName } from './from-outside.ts'

/** What a model costs that is not priced by tokens in and out, such as `0.01 USD a picture` and `0.04 USD a picture 2K`. */
export function unitPrices({ type, model_spec: { pricing } }: ModelRecord): string[] | undefined {
  if (!pricing || tokenPricing(pricing)) return undefined
  const prices = named(pricing as z.output<typeof UnitPricing>, type).slice(0, unitPricesShown)
  return prices.length > 0 ? prices.map(([what, usd]) => `${usd} USD ${what}`) : undefined
}

type Named = [what: string, usd: number]

function named(pricing: z.output<typeof UnitPricing>, type: ModelRecord['type']): Named[] {
  const { quality = {}, resolutions = {}, durations = {}, upscale = {} } = pricing
  const single: readonly (readonly [string, { usd: number } | undefined])[] = [
    ['a picture', pricing.generation],
    ['an edit', pricing.inpaint],
    // Speech is counted in the characters that are spoken.
    [type === 'tts' ? 'a million characters' : 'a million tokens', pricing.input],
    ['a second', pricing.per_second],
    ['a second of audio', pricing.per_audio_second],
    ['a thousand characters', pricing.per_thousand_characters],
  ]
  return [
    ...single.flatMap(([what, price]): Named[] => (price ? [[what, price.usd]] : [])),
    ...each('a picture', resolutions),
    ...Object.entries(quality).flatMap(([resolution, levels]) => each(`a picture ${strangeName(resolution)}`, levels)),
    ...each('an upscale', upscale),
    ...each('a duration', durations),
  ]
}

const each = (what: string, prices: Readonly<Record<string, { usd: number } | undefined>>): Named[] =>
  Object.entries(prices).flatMap(([of, price]): Named[] => (price ? [[`${what} ${strangeName(of)}`, price.usd]] : []))
