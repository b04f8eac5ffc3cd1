import { z } from 'zod'
import { DetailedError, StandardError } from './failures.ts'
import { defineOperation } from './operation.ts'

export const modelTypes = ['asr', 'embedding', 'image', 'music', 'text', 'tts', 'upscale', 'inpaint', 'video'] as const
export type ModelType = (typeof modelTypes)[number]

const Price = z.strictObject({ usd: z.number(), diem: z.number() })

const TextPricing = z.strictObject({
  input: Price,
  output: Price,
  cache_input: Price.optional(),
  cache_write: Price.optional(),
})

const TextCapabilities = z.strictObject({
  optimizedForCode: z.boolean(),
  quantization: z.enum(['fp4', 'fp8', 'fp16', 'bf16', 'int8', 'int4', 'not-available']),
  supportsFunctionCalling: z.boolean(),
  supportsAudioInput: z.boolean(),
  supportsReasoning: z.boolean(),
  supportsReasoningEffort: z.boolean(),
  supportsResponseSchema: z.boolean(),
  supportsMultipleImages: z.boolean(),
  supportsVision: z.boolean(),
  supportsVideoInput: z.boolean(),
  supportsWebSearch: z.boolean(),
  supportsLogProbs: z.boolean(),
  supportsTeeAttestation: z.boolean(),
  supportsE2EE: z.boolean(),
  supportsXSearch: z.boolean(),
})

const TextConstraints = z.strictObject({
  temperature: z.strictObject({ default: z.number() }),
  top_p: z.strictObject({ default: z.number() }),
})

/** An empty list means that the model has no such choice. */
export const VideoConstraints = z.strictObject({
  aspect_ratios: z.array(z.string()),
  resolutions: z.array(z.string()),
  durations: z.array(z.string()),
  model_type: z.enum(['image-to-video', 'text-to-video', 'video']),
  audio: z.boolean(),
  audio_configurable: z.boolean(),
  prompt_character_limit: z.number().int().positive().optional(),
})
export type VideoConstraints = z.output<typeof VideoConstraints>

const Deprecation = z.strictObject({
  autoRemap: z.boolean(),
  date: z.string(),
  removesAt: z.string(),
  replacementModelId: z.string().optional(),
  startsAt: z.string().optional(),
})

const ModelSpec = z.strictObject({
  name: z.string().optional(),
  description: z.string().optional(),
  privacy: z.enum(['private', 'anonymized']),
  modelSource: z.string().optional(),
  offline: z.boolean().optional(),
  betaModel: z.boolean().optional(),
  traits: z.array(z.string()).optional(),
  availableContextTokens: z.number().int().positive().optional(),
  maxCompletionTokens: z.number().int().positive().optional(),
  capabilities: TextCapabilities.optional(),
  constraints: z.union([TextConstraints, VideoConstraints]).optional(),
  pricing: TextPricing.optional(),
  deprecation: Deprecation.optional(),
})

/** Published contract §6.1. Video models have no price here: ask for a quote. */
export const ModelRecord = z
  .strictObject({
    id: z.string(),
    object: z.literal('model'),
    owned_by: z.string(),
    type: z.enum(modelTypes),
    created: z.number().int().optional(),
    context_length: z.number().int().positive().optional(),
    model_spec: ModelSpec,
  })
  .meta({ id: 'Model' })
export type ModelRecord = z.output<typeof ModelRecord>

export const ModelList = z
  .strictObject({ object: z.literal('list'), type: z.string(), data: z.array(ModelRecord) })
  .meta({ id: 'ModelList' })

export const listModels = defineOperation({
  id: 'listModels',
  method: 'GET',
  path: '/models',
  tag: 'Models',
  summary: 'Models with capabilities, allowed values and prices; text models unless a type is asked for',
  auth: [],
  charge: 'free',
  limit: 'read',
  request: { query: z.object({ type: z.enum([...modelTypes, 'all', 'code']).default('text') }) },
  answer: { json: ModelList },
  failures: { 400: DetailedError, 429: StandardError, 500: StandardError },
})
