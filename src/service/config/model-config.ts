import { z } from 'zod'
import { usualConcurrency, usualWaiting, usualWaitMs } from '#engines/upstreams/upstream.ts'
import { modelCount } from '../models/model.ts'
import { count, Milliseconds, Moment, Text, upstreamsOfModel } from './config-values.ts'
import type { EngineKind, ModelKind } from './define-kind.ts'
import { comfyKind } from './engines/comfyui.ts'
import { demoKind, ggufKind, localKind } from './engines/local.ts'
import { openAiKind, serviceKind } from './engines/openai.ts'
import { musicKind, speechKind, transcriptionKind } from './models/audio.ts'
import { backgroundKind, imageKind, inpaintKind, upscaleKind } from './models/images.ts'
import { embeddingKind, textKind } from './models/text.ts'
import { videoKind } from './models/video.ts'

/** Every value of `engine:`, in the order in which errors list them. */
export const engineKinds: readonly EngineKind[] = [openAiKind, serviceKind, comfyKind, ggufKind, localKind, demoKind]

/** Every word that a model's `type:` may be. */
export const modelKinds: readonly ModelKind[] = [
  textKind,
  embeddingKind,
  imageKind,
  inpaintKind,
  upscaleKind,
  backgroundKind,
  speechKind,
  transcriptionKind,
  musicKind,
  videoKind,
]

const Name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/, 'letters, digits and . _ : / -, at most 128')

/** What is told of each upstream, whatever its engine. */
const upstreamShape = {
  /** In logs and figures, and in the rows of its jobs; by its engine and place where absent. */
  name: Name.optional(),
  /** The engine's own name of the model; the model's id where absent. */
  model: z.string().min(1).max(1_000).optional(),
  weight: count(1, 1_000).default(1),
  concurrency: count(1, 100_000).default(usualConcurrency),
  /** Until the first piece of a stream, and between two later ones. */
  firstByteMs: Milliseconds.optional(),
  idleMs: Milliseconds.optional(),
}

const Deprecation = z.strictObject({
  /** When it is announced in answers; at once where absent. */
  startsAt: Moment.optional(),
  removesAt: Moment,
  /** Answers instead from then on; without it such calls are 410. */
  replacement: Name.optional(),
})

const Names = z.array(Name).max(100).default([])

const modelShape = {
  id: Name,
  name: z.string().min(1).max(200).optional(),
  description: Text.default(''),
  created: Moment.optional(),
  traits: Names,
  compatibleIds: Names,
  privacy: z.enum(['private', 'anonymized']).default('anonymized'),
  deprecation: Deprecation.optional(),
  /** Calls that wait where all upstreams are full. */
  queue: z
    .strictObject({ length: count(0, 100_000).default(usualWaiting), waitMs: Milliseconds.default(usualWaitMs) })
    .default({ length: usualWaiting, waitMs: usualWaitMs }),
}

/** Engines that make what such a model sells. */
function upstreamsOf({ type }: ModelKind) {
  const kinds = engineKinds.filter(({ engines }) => engines[type])
  const options = kinds.map(({ name, options }) =>
    z.strictObject({ engine: z.literal(name), ...upstreamShape, ...options }),
  )
  return z
    .array(z.discriminatedUnion('engine', options as unknown as [(typeof options)[number]]))
    .min(1)
    .max(upstreamsOfModel)
}

const modelOf = (kind: ModelKind) =>
  z.strictObject({ ...modelShape, ...kind.shape, type: z.literal(kind.type), upstreams: upstreamsOf(kind) })

const options = modelKinds.map(modelOf)

/** Every model that is sold, each by its type. */
export const ModelConfigs = z
  .array(z.discriminatedUnion('type', options as unknown as [(typeof options)[number]]))
  .min(1)
  .max(modelCount)

export type ModelConfig = z.output<z.ZodObject<typeof modelShape>> & {
  type: ModelKind['type']
  upstreams: readonly UpstreamConfig[]
}

export type UpstreamConfig = z.output<z.ZodObject<typeof upstreamShape>> & { engine: string }
