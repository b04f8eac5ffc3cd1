import { z } from 'zod'
import { mostDimensions, textTiers } from '#contract/limits.ts'
import { ModelRecord } from '#contract/operations/models.ts'
import { pooledChat, pooledEmbeddings } from '#engines/upstreams/pooled-engines.ts'
import { probeTokens } from '#engines/upstreams/upstream.ts'
import { count, PerMillionUsd } from '../config-values.ts'
import { defineModelKind } from '../define-kind.ts'

/** More than the largest context that any model offers. */
const mostTokens = 100_000_000

/** Only `files` decides whether a model accepts files. */
const Capabilities = ModelRecord.shape.model_spec.shape.capabilities.unwrap().omit({ supportsFileInput: true })

const none: z.output<typeof Capabilities> = {
  optimizedForCode: false,
  quantization: 'not-available',
  supportsFunctionCalling: false,
  supportsAudioInput: false,
  supportsReasoning: false,
  supportsReasoningEffort: false,
  supportsResponseSchema: false,
  supportsMultipleImages: false,
  supportsVision: false,
  supportsVideoInput: false,
  supportsWebSearch: false,
  supportsLogProbs: false,
  supportsTeeAttestation: false,
  supportsE2EE: false,
  supportsXSearch: false,
}

export const textKind = defineModelKind({
  type: 'text',
  shape: {
    /** Decides its limits per minute. */
    tier: z.enum(textTiers).default('S'),
    contextTokens: count(1, mostTokens),
    maximumCompletionTokens: count(1, mostTokens).optional(),
    price: z.strictObject({
      inputPerMillionUsd: PerMillionUsd,
      outputPerMillionUsd: PerMillionUsd,
      cachedInputPerMillionUsd: PerMillionUsd.optional(),
      cacheWritePerMillionUsd: PerMillionUsd.optional(),
    }),
    capabilities: Capabilities.partial().default({}),
    /** Accepts files: `engine` passes them on, `text` adds their text to the message; refused if absent. */
    files: z.enum(['engine', 'text']).optional(),
  },
  members: ({ tier, contextTokens, maximumCompletionTokens, price, capabilities, files }) => ({
    tier,
    contextTokens,
    maximumCompletionTokens: maximumCompletionTokens ?? contextTokens,
    price: {
      inputPicoUsd: price.inputPerMillionUsd,
      outputPicoUsd: price.outputPerMillionUsd,
      ...(price.cachedInputPerMillionUsd === undefined ? {} : { cachedInputPicoUsd: price.cachedInputPerMillionUsd }),
      ...(price.cacheWritePerMillionUsd === undefined ? {} : { cacheWritePicoUsd: price.cacheWritePerMillionUsd }),
    },
    capabilities: { ...none, ...capabilities, ...(files ? { supportsFileInput: true } : {}) },
    ...(files ? { files } : {}),
  }),
  probe: (engine, { engineModel, signal }) => {
    const request = {
      model: engineModel,
      messages: [{ role: 'user' as const, content: 'Say yes.' }],
      max_tokens: probeTokens,
    }
    return engine.complete({ request, engineModel, maxCompletionTokens: probeTokens, signal })
  },
  pooled: pooledChat,
})

export const embeddingKind = defineModelKind({
  type: 'embedding',
  shape: {
    dimensions: count(1, mostDimensions),
    hasDimensions: z.boolean().default(false),
    maximumInputTokens: count(1, 10_000_000).default(8_192),
    price: z.strictObject({ inputPerMillionUsd: PerMillionUsd }),
  },
  members: ({ price, ...members }) => ({ ...members, price: { inputPicoUsd: price.inputPerMillionUsd } }),
  probe: (engine, call) => engine.embed({ ...call, input: 'yes' }),
  pooled: pooledEmbeddings,
})
