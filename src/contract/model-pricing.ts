import { z } from 'zod'

/** Prices in a model's record (published contract §6.1), always as a pair. Tokens are priced by the million. */

export const Price = z.strictObject({ usd: z.number(), diem: z.number() })

const tokenPrices = { input: Price, output: Price, cache_input: Price.optional(), cache_write: Price.optional() }

/** Text and embedding models; `extended` is for prompts above its threshold. */
export const TokenPricing = z.strictObject({
  ...tokenPrices,
  extended: z.strictObject({ context_token_threshold: z.number(), ...tokenPrices }).optional(),
})

const qualityPrices = z.strictObject({ low: Price.optional(), medium: Price.optional(), high: Price.optional() })

/** Everything else: by the picture, the second, the thousand characters, or the length of a song. */
export const UnitPricing = z.strictObject({
  input: Price.optional(),
  generation: Price.optional(),
  resolutions: z.record(z.string(), Price).optional(),
  quality: z.record(z.string(), qualityPrices).optional(),
  upscale: z.strictObject({ '2x': Price, '4x': Price }).optional(),
  inpaint: Price.optional(),
  per_audio_second: Price.optional(),
  per_second: Price.optional(),
  per_thousand_characters: Price.optional(),
  durations: z
    .record(
      z.string(),
      z.strictObject({ ...Price.shape, min_seconds: z.number().optional(), max_seconds: z.number().optional() }),
    )
    .optional(),
})

export const ModelPricing = z.union([TokenPricing, UnitPricing])
export type ModelPricing = z.output<typeof ModelPricing>

/** Prices by the token, where a model has such. */
export const tokenPricing = (pricing: ModelPricing | undefined): z.output<typeof TokenPricing> | undefined =>
  pricing && 'output' in pricing ? pricing : undefined
