import { z } from 'zod'
import { editAspectRatios, mostEditImages } from '#contract/operations/images.ts'
import { imagePixels } from '#engines/images/image-file.ts'
import { pooledBackgrounds, pooledEdits, pooledImages, pooledUpscales } from '#engines/upstreams/pooled-engines.ts'
import { count, Usd } from '../config-values.ts'
import { defineModelKind } from '../define-kind.ts'

/** Models that generate images, and models that change them. */

const Format = z.enum(['png', 'jpeg', 'webp'])
const Resolution = z.string().min(1).max(10)

const taken = {
  shortestSide: count(1, 4_096).default(64),
  /** Most pixels of an input image. */
  mostPixels: count(64, imagePixels).default(16_777_216),
}

export const inpaintKind = defineModelKind({
  type: 'inpaint',
  shape: {
    ...taken,
    promptCharacters: count(1, 32_768).default(1_500),
    formats: z.tuple([Format], Format).default(['png']),
    aspectRatios: z
      .array(z.enum(editAspectRatios).exclude(['auto']))
      .max(editAspectRatios.length)
      .default([]),
    mostImages: count(1, mostEditImages).default(1),
    price: z.strictObject({
      perImageUsd: Usd,
      /** By resolution, for a model that offers the choice; the first is the default. */
      resolutions: z.record(Resolution, Usd).optional(),
      quality: z
        .record(Resolution, z.strictObject({ low: Usd.optional(), medium: Usd.optional(), high: Usd.optional() }))
        .optional(),
    }),
  },
  members: ({ price: { perImageUsd, resolutions, quality }, ...members }) => ({
    ...members,
    price: {
      perImageMicroUsd: perImageUsd,
      ...(resolutions ? { resolutions } : {}),
      ...(quality ? { quality: definedPrices(quality) } : {}),
    },
  }),
  pooled: pooledEdits,
})

/** Removes undefined members, which an exact type does not accept. */
const definedPrices = <Value extends object>(prices: Record<string, Value>) =>
  Object.fromEntries(
    Object.entries(prices).map(([name, each]) => [
      name,
      Object.fromEntries(Object.entries(each).filter(([, amount]) => amount !== undefined)),
    ]),
  )

export const upscaleKind = defineModelKind({
  type: 'upscale',
  shape: {
    ...taken,
    mostMadePixels: count(64, imagePixels).default(16_777_216),
    hasEnhance: z.boolean().default(false),
    price: z.strictObject({ twiceUsd: Usd, fourTimesUsd: Usd }),
  },
  members: ({ price, ...members }) => ({
    ...members,
    price: { twiceMicroUsd: price.twiceUsd, fourTimesMicroUsd: price.fourTimesUsd },
  }),
  pooled: pooledUpscales,
})

export const backgroundKind = defineModelKind({
  type: 'background',
  shape: { ...taken, price: z.strictObject({ perImageUsd: Usd }) },
  members: ({ price, ...members }) => ({ ...members, price: { perImageMicroUsd: price.perImageUsd } }),
  pooled: pooledBackgrounds,
})

/** Pixels on each side of an owner's trial: what a request without a size gets, because many engines make no smaller one. */
const trialSide = 1_024

export const imageKind = defineModelKind({
  type: 'image',
  shape: {
    promptCharacters: count(1, 7_500).default(1_500),
    formats: z.tuple([Format], Format).default(['png']),
    sideDivisor: count(1, 1_024).default(8),
    longestSide: count(1, 16_384).default(1_792),
    steps: z.strictObject({ default: count(1, 1_000), max: count(1, 1_000) }).default({ default: 1, max: 1 }),
    styles: z.array(z.string().min(1).max(100)).max(1_000).default([]),
    hasNegativePrompt: z.boolean().default(false),
    hasSeed: z.boolean().default(false),
    price: z.strictObject({ perImageUsd: Usd }),
  },
  members: ({ price, ...members }) => ({ ...members, price: { perImageMicroUsd: price.perImageUsd } }),
  trial: async (engine, { formats: [format], longestSide, sideDivisor }, call) => {
    const side = Math.min(trialSide, longestSide)
    const pixels = side - (side % sideDivisor)
    const request = { prompt: 'A red apple on a white table.', width: pixels, height: pixels, count: 1, format }
    const [bytes] = await engine.generate({ ...call, request })
    if (!bytes) throw new Error('The engine made no image.')
    return { type: `image/${format}`, bytes }
  },
  pooled: pooledImages,
})
