import { z } from 'zod'
import { pooledEmbeddings } from '#engines/upstreams/pooled-engines.ts'
import { count, PerMillionUsd } from '../config-values.ts'
import { defineModelKind } from '../model-kind.ts'

export const embeddingKind = defineModelKind({
  type: 'embedding',
  shape: {
    dimensions: count(1, 100_000),
    hasDimensions: z.boolean().default(false),
    maximumInputTokens: count(1, 10_000_000).default(8_192),
    price: z.strictObject({ inputPerMillionUsd: PerMillionUsd }),
  },
  members: ({ price, ...members }) => ({ ...members, price: { inputPicoUsd: price.inputPerMillionUsd } }),
  probe: (engine, call) => engine.embed({ ...call, input: 'yes' }),
  pooled: pooledEmbeddings,
})
