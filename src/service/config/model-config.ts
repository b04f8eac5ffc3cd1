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

/** Every value of a model's `type:`. */
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

/** Options of each upstream, whatever its engine. */
const upstreamShape = {
  /** Used in logs, metrics and the rows of its jobs; derived from its engine and position if absent. */
  name: Name.optional(),
  /** The engine's own name for the model; the model's id by default. */
  model: z.string().min(1).max(1_000).optional(),
  weight: count(1, 1_000).default(1),
  concurrency: count(1, 100_000).default(usualConcurrency),
  /** Timeouts until the first piece of a stream, and between two later ones. */
  firstByteMs: Milliseconds.optional(),
  idleMs: Milliseconds.optional(),
}

const Deprecation = z.strictObject({
  /** When answers start to announce it; at once if absent. */
  startsAt: Moment.optional(),
  removesAt: Moment,
  /** The model that answers from then on; without it, calls get 410. */
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
  /** Whether it is sold. */
  enabled: z.boolean().default(true),
  /** Calls that may wait while all upstreams are full. */
  queue: z
    .strictObject({ length: count(0, 100_000).default(usualWaiting), waitMs: Milliseconds.default(usualWaitMs) })
    .default({ length: usualWaiting, waitMs: usualWaitMs }),
}

/** The engines that can run this type of model. */
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

/** Every model that is sold, by its type. */
export const ModelConfigs = z
  .array(z.discriminatedUnion('type', options as unknown as [(typeof options)[number]]))
  .min(1)
  .max(modelCount)

export type ModelConfig = z.output<z.ZodObject<typeof modelShape>> & {
  type: ModelKind['type']
  upstreams: readonly UpstreamConfig[]
}

export type UpstreamConfig = z.output<z.ZodObject<typeof upstreamShape>> & { engine: string }
