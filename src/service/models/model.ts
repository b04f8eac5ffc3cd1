import type { TextTier } from '#contract/limits.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import type { ModelRecord, VideoConstraints } from '#contract/operations/models.ts'
import type { ChatEngine, EmbeddingEngine } from '#engines/ports/engine.ts'
import type { ImageEngine } from '#engines/ports/image-engines.ts'
import type { VideoEngine } from '#engines/ports/media-engines.ts'
import type { UpstreamState } from '#engines/upstreams/upstream.ts'
import type { MusicModel, SpeechModel, TranscriptionModel } from './audio-models.ts'
import type { PictureModel } from './picture-model.ts'

/** A model as the service sells it: its public record, its price and the engine behind it. */
export type Model =
  | TextModel
  | EmbeddingModel
  | ImageModel
  | PictureModel
  | SpeechModel
  | TranscriptionModel
  | MusicModel
  | VideoModel

/** What every model says of itself. */
export interface AnyModel {
  id: string
  name: string
  description: string
  /** Unix seconds. */
  createdAt: number
  /** For `default` and its like. */
  traits: readonly string[]
  /** Other providers' ids that this model answers to, so that a client need not change its own. */
  compatibleIds?: readonly string[]
  /** Names the engine in `x-service-model-router`. */
  engineName: string
  /** The engine's own name of the model. */
  engineModel: string
  /** What its record claims; the weaker `anonymized` unless said otherwise. */
  privacy?: ModelRecord['model_spec']['privacy']
  deprecation?: NonNullable<ModelRecord['model_spec']['deprecation']>
  /** How what it runs on stands, for figures; absent where it runs on one engine alone. */
  upstreams?: { states(): readonly UpstreamState[]; waiting(): number }
  /** Ends what it runs on, once it is replaced and its last call has ended; absent where whoever made its engine does. */
  close?: () => Promise<void>
}

export interface TextModel extends AnyModel {
  type: 'text'
  tier: TextTier
  contextTokens: number
  maximumCompletionTokens: number
  price: TextPrice
  capabilities: NonNullable<ModelRecord['model_spec']['capabilities']>
  /** Takes files in a conversation: its engine reads them, or gets the text that is in them. */
  files?: 'engine' | 'text'
  engine: ChatEngine
}

/** A token's price; one that is read from a cache or written into it costs the input price where it has none of its own. */
export interface TextPrice {
  inputPicoUsd: bigint
  outputPicoUsd: bigint
  cachedInputPicoUsd?: bigint
  cacheWritePicoUsd?: bigint
}

export interface EmbeddingModel extends AnyModel {
  type: 'embedding'
  /** Of a vector, where the request does not choose fewer. */
  dimensions: number
  /** Whether a request may choose fewer. */
  hasDimensions: boolean
  /** Of each text. */
  maximumInputTokens: number
  price: EmbeddingPrice
  engine: EmbeddingEngine
}

export type EmbeddingPrice = Pick<TextPrice, 'inputPicoUsd'>

export interface ImageModel extends AnyModel {
  type: 'image'
  /** Of a prompt. */
  promptCharacters: number
  /** The first is what a request gets that asks for none. */
  formats: readonly [ImageFormat, ...ImageFormat[]]
  /** Width and height are multiples of it. */
  sideDivisor: number
  longestSide: number
  steps: { default: number; max: number }
  /** Names for `style_preset`. */
  styles: readonly string[]
  hasNegativePrompt: boolean
  hasSeed: boolean
  price: { perPictureMicroUsd: MicroUsd }
  engine: ImageEngine
}

export interface VideoModel extends AnyModel {
  type: 'video'
  constraints: VideoConstraints
  price: VideoPrice
  /** Whose consent policy applies to pictures with a face; null where none does. */
  consent: ConsentPolicy | null
  /** `inline` sends the file through retrieve; `download_url` gives a signed address when the job is queued (brief §2.7). */
  delivery: 'inline' | 'download_url'
  engine: VideoEngine
}

export interface VideoPrice {
  /** A second of video at each resolution that the model has, or at each factor of an upscaler (`2x`); `''` where it has no choice. */
  perSecondMicroUsd: Readonly<Record<string, MicroUsd>>
  /** What a second with sound costs beyond that. */
  audioPerSecondMicroUsd: MicroUsd
  /** What a second of all reference videos together costs; nothing where absent. */
  referencePerSecondMicroUsd?: MicroUsd
}

/** Brief §3.2. */
export interface ConsentPolicy {
  /** The key under `consents`. */
  provider: string
  title: string
  version: string
  text: string
}
