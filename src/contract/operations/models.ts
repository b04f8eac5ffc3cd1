import { z } from 'zod'
import { readFailures } from '../errors/failures.ts'
import { answerListOf, answerRecordOf, listOf, recordOf } from '../schemas.ts'
import { ReasoningEffort } from './chat.ts'
import { ImageQuality } from './images.ts'
import { defineOperation } from './operation.ts'
import { UpscaleFactor, videoMediaFields } from './video.ts'

/** Prices in a model's record (published contract §6.1), always in both currencies. Tokens are priced per million. */

const Price = z.strictObject({ usd: z.number(), diem: z.number() })

const tokenPrices = { input: Price, output: Price, cache_input: Price.optional(), cache_write: Price.optional() }

/** Text and embedding models; `extended` applies to prompts above its threshold. */
const TokenPricing = z.strictObject({
  ...tokenPrices,
  extended: z.strictObject({ context_token_threshold: z.number(), ...tokenPrices }).optional(),
})

const qualityPrices = z.strictObject({ low: Price.optional(), medium: Price.optional(), high: Price.optional() })

/** All other models: per image, second or thousand characters, or by the length of a song. */
export const UnitPricing = z.strictObject({
  input: Price.optional(),
  generation: Price.optional(),
  resolutions: recordOf(Price).optional(),
  quality: recordOf(qualityPrices).optional(),
  upscale: z.strictObject({ '2x': Price, '4x': Price }).optional(),
  inpaint: Price.optional(),
  per_audio_second: Price.optional(),
  per_second: Price.optional(),
  per_thousand_characters: Price.optional(),
  durations: recordOf(
    z.strictObject({ ...Price.shape, min_seconds: z.number().optional(), max_seconds: z.number().optional() }),
  ).optional(),
})

export const ModelPricing = z.union([TokenPricing, UnitPricing])
export type ModelPricing = z.output<typeof ModelPricing>

/** Returns prices per token, if a model has any. */
export const tokenPricing = (pricing: ModelPricing | undefined): z.output<typeof TokenPricing> | undefined =>
  pricing && 'output' in pricing ? pricing : undefined

const publishedTypes = ['asr', 'embedding', 'image', 'music', 'text', 'tts', 'upscale', 'inpaint', 'video'] as const

/** `background`, for removing backgrounds, is farebox's own: listed on request, but not part of `all`. */
export const modelTypes = [...publishedTypes, 'background'] as const
export type ModelType = (typeof modelTypes)[number]

const TextCapabilities = z.strictObject({
  optimizedForCode: z.boolean(),
  quantization: z.enum(['fp4', 'fp8', 'fp16', 'bf16', 'int8', 'int4', 'not-available']),
  supportsFunctionCalling: z.boolean(),
  supportsAudioInput: z.boolean(),
  supportsReasoning: z.boolean(),
  supportsReasoningEffort: z.boolean(),
  reasoningEffortOptions: listOf(ReasoningEffort).optional(),
  defaultReasoningEffort: ReasoningEffort.optional(),
  supportsResponseSchema: z.boolean(),
  supportsMultipleImages: z.boolean(),
  maxImages: z.number().optional(),
  supportsVision: z.boolean(),
  supportsVideoInput: z.boolean(),
  /** In addition to the published members: accepts parts of the type `file`. */
  supportsFileInput: z.boolean().optional(),
  supportsWebSearch: z.boolean(),
  supportsLogProbs: z.boolean(),
  supportsTeeAttestation: z.boolean(),
  supportsE2EE: z.boolean(),
  supportsXSearch: z.boolean(),
})

const Default = z.strictObject({ default: z.number() })

const TextConstraints = z.strictObject({
  temperature: Default,
  top_p: Default,
  frequency_penalty: Default.optional(),
  presence_penalty: Default.optional(),
  repetition_penalty: Default.optional(),
})

const imageChoices = {
  promptCharacterLimit: z.number(),
  resolutions: listOf(z.string()).optional(),
  defaultResolution: z.string().optional(),
  qualities: listOf(ImageQuality).optional(),
  defaultQuality: ImageQuality.optional(),
}

const ImageConstraints = z.strictObject({
  ...imageChoices,
  steps: z.strictObject({ default: z.number(), max: z.number() }),
  widthHeightDivisor: z.number(),
  aspectRatios: listOf(z.string()).optional(),
  defaultAspectRatio: z.string().optional(),
})

const InpaintConstraints = z.strictObject({
  ...imageChoices,
  aspectRatios: listOf(z.string()),
  combineImages: z.boolean(),
  singleImageAspectRatio: z.boolean().optional(),
})

/** An empty list means that the model does not offer the choice. */
export const VideoConstraints = z.strictObject({
  aspect_ratios: listOf(z.string()),
  resolutions: listOf(z.string()),
  durations: listOf(z.string()),
  model_type: z.enum(['image-to-video', 'text-to-video', 'video']),
  audio: z.boolean(),
  audio_configurable: z.boolean(),
  prompt_character_limit: z.number().int().positive().optional(),
  /** The media that it accepts; if absent, an image as its first frame, unless it makes videos from text alone. */
  media: listOf(z.enum(videoMediaFields)).optional(),
  /** Only for an upscaler, which takes a video but no duration or resolution. */
  upscale_factors: listOf(UpscaleFactor).min(1).optional(),
})
export type VideoConstraints = z.output<typeof VideoConstraints>

const Deprecation = z.strictObject({
  autoRemap: z.boolean(),
  date: z.string(),
  removesAt: z.string(),
  replacementModelId: z.string().optional(),
  startsAt: z.string().optional(),
})

/** Members that only models of speech, music and embeddings have. */
const audioAndEmbeddings = {
  embeddingDimensions: z.number().optional(),
  maxInputTokens: z.number().optional(),
  supportsCustomDimensions: z.boolean().optional(),
  supports_lyrics: z.boolean().optional(),
  lyrics_required: z.boolean().optional(),
  supports_force_instrumental: z.boolean().optional(),
  voices: listOf(z.string()).optional(),
  voice_cloning: z
    .strictObject({
      mode: z.enum(['zero_shot', 'persistent']),
      accepted_formats: listOf(z.string()),
      min_sample_seconds: z.number(),
      retention_days: z.number(),
    })
    .optional(),
  default_voice: z.string().optional(),
  supports_language_code: z.boolean().optional(),
  supports_speed: z.boolean().optional(),
  default_speed: z.number().optional(),
  min_speed: z.number().optional(),
  max_speed: z.number().optional(),
  duration_options: listOf(z.number()).optional(),
  min_duration: z.number().optional(),
  max_duration: z.number().optional(),
  default_duration: z.number().optional(),
  supported_formats: listOf(z.string()).optional(),
  default_format: z.string().optional(),
  prompt_character_limit: z.number().optional(),
  min_prompt_length: z.number().optional(),
  lyrics_character_limit: z.number().optional(),
}

const ModelSpec = z.strictObject({
  name: z.string().optional(),
  description: z.string().optional(),
  privacy: z.enum(['private', 'anonymized']),
  modelSource: z.string().optional(),
  offline: z.boolean().optional(),
  beta: z.boolean().optional(),
  betaModel: z.boolean().optional(),
  regionRestrictions: answerListOf(z.string()).optional(),
  traits: answerListOf(z.string()).optional(),
  availableContextTokens: z.number().int().min(0).optional(),
  maxCompletionTokens: z.number().int().min(0).optional(),
  capabilities: TextCapabilities.optional(),
  constraints: z.union([TextConstraints, VideoConstraints, ImageConstraints, InpaintConstraints]).optional(),
  pricing: ModelPricing.optional(),
  deprecation: Deprecation.optional(),
  ...audioAndEmbeddings,
})

/** Published contract §6.1. Video models have no price here, because a quote depends on the request. */
export const ModelRecord = z
  .strictObject({
    id: z.string(),
    object: z.literal('model'),
    owned_by: z.string(),
    type: z.enum(modelTypes),
    created: z.number().int().optional(),
    context_length: z.number().int().min(0).optional(),
    model_spec: ModelSpec,
  })
  .meta({ id: 'Model' })
export type ModelRecord = z.output<typeof ModelRecord>

export const ModelList = z
  .strictObject({ object: z.literal('list'), type: z.string(), data: answerListOf(ModelRecord) })
  .meta({ id: 'ModelList' })

export const listModels = defineOperation({
  id: 'listModels',
  method: 'GET',
  path: '/models',
  tag: 'Models',
  summary: 'Models with capabilities, allowed values and prices; text models by default',
  auth: [],
  charge: 'free',
  limit: 'read',
  request: { query: z.object({ type: z.enum([...modelTypes, 'all', 'code']).default('text') }) },
  answer: { json: ModelList },
  failures: readFailures,
})

/** Aliases of model ids. */
const ModelNames = z.strictObject({
  object: z.literal('list'),
  type: z.enum(modelTypes),
  data: answerRecordOf(z.string()),
})

const byType = z.object({ type: z.enum(modelTypes).default('text') })

/** Published contract §6.2: which model a trait such as `default` or `fastest` stands for. */
export const listModelTraits = defineOperation({
  id: 'listModelTraits',
  method: 'GET',
  path: '/models/traits',
  tag: 'Models',
  summary: 'The model for each trait; a trait may be sent instead of a model id',
  auth: [],
  charge: 'free',
  limit: 'read',
  request: { query: byType },
  answer: { json: ModelNames.meta({ id: 'ModelTraits' }) },
  failures: readFailures,
})

/** Published contract §6.2: which model another provider's model id stands for. */
export const listModelCompatibilityMapping = defineOperation({
  id: 'listModelCompatibilityMapping',
  method: 'GET',
  path: '/models/compatibility_mapping',
  tag: 'Models',
  summary: 'The model for each id of another provider',
  auth: [],
  charge: 'free',
  limit: 'read',
  request: { query: byType },
  answer: { json: ModelNames.meta({ id: 'ModelCompatibilityMapping' }) },
  failures: readFailures,
})

/**
 * Returns the models of a type that match a name: the one with this id, else those with this trait. Empty for a name
 * that is not in the records; a service may still know it as another provider's.
 */
export function modelsNamed(
  records: readonly ModelRecord[],
  type: ModelType | undefined,
  name: unknown,
): readonly ModelRecord[] {
  const ofType = records.filter(record => type === undefined || record.type === type)
  const byId = ofType.filter(({ id }) => id === name)
  return byId.length > 0 ? byId : ofType.filter(({ model_spec: { traits } }) => traits?.some(trait => trait === name))
}
