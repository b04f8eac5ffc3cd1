import { z } from 'zod'
import { pooledImages } from '#engines/upstreams/pooled-engines.ts'
import { count, Usd } from '../config-values.ts'
import { defineModelKind } from '../model-kind.ts'

const Format = z.enum(['png', 'jpeg', 'webp'])

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
    price: z.strictObject({ perPictureUsd: Usd }),
  },
  members: ({ price, ...members }) => ({ ...members, price: { perPictureMicroUsd: price.perPictureUsd } }),
  pooled: pooledImages,
})
