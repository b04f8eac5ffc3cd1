import type { TextTier } from '#contract/limits.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { SpeechFormat } from '#contract/operations/audio.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import type { ModelRecord, VideoConstraints } from '#contract/operations/models.ts'
import type { UpscaleFactor, VideoMediaField } from '#contract/operations/video.ts'
import { dayMs } from '#contract/time.ts'
import type { ChatEngine, EmbeddingEngine } from '#engines/ports/engine.ts'
import type {
  BackgroundEngine,
  EditEngine,
  EditRequest,
  ImageEngine,
  MusicEngine,
  SpeechEngine,
  TranscriptionEngine,
  UpscaleEngine,
  VideoEngine,
} from '#engines/ports/media-engines.ts'
import type { Tried, UpstreamState } from '#engines/upstreams/upstream.ts'

/** A model as the service sells it: its public record, its price and its engine. */
export type Model =
  | TextModel
  | EmbeddingModel
  | ImageModel
  | ImageInputModel
  | SpeechModel
  | TranscriptionModel
  | MusicModel
  | VideoModel

/** Members of every model. */
interface AnyModel {
  id: string
  name: string
  description: string
  /** Unix seconds. */
  createdAt: number
  /** Traits such as `default`. */
  traits: readonly string[]
  /** Other providers' model ids that also name this model, so that clients need not change theirs. */
  compatibleIds?: readonly string[]
  /** The engine's name in `x-service-model-router`. */
  engineName: string
  /** The engine's own name for the model. */
  engineModel: string
  /** What its record claims; the weaker `anonymized` by default. */
  privacy?: ModelRecord['model_spec']['privacy']
  deprecation?: NonNullable<ModelRecord['model_spec']['deprecation']>
  /** Not on sale at the moment; its jobs continue, and operators may try it. */
  isOff?: boolean
  /** Its upstreams, for metrics and operators; absent if it runs on a single engine. */
  upstreams?: {
    states(): readonly UpstreamState[]
    waiting(): number
    /** How many calls may wait for a free upstream, and how long. */
    queue: { length: number; waitMs: number }
    /** Sends one small probe to the upstream of this name; absent if every call of such a model is expensive. */
    tryOne?(name: string): Promise<Tried | null>
  }
  /** Closes its engines, after it was replaced and its last call has ended; absent if the engines' owner does that. */
  close?: () => Promise<void>
}

export interface TextModel extends AnyModel {
  type: 'text'
  tier: TextTier
  contextTokens: number
  maximumCompletionTokens: number
  price: TextPrice
  capabilities: NonNullable<ModelRecord['model_spec']['capabilities']>
  /** Accepts files in a conversation: its engine reads them, or gets their text. */
  files?: 'engine' | 'text'
  engine: ChatEngine
}

/** Price per token; cache reads and writes without a price of their own cost as much as input. */
export interface TextPrice {
  inputPicoUsd: bigint
  outputPicoUsd: bigint
  cachedInputPicoUsd?: bigint
  cacheWritePicoUsd?: bigint
}

export interface EmbeddingModel extends AnyModel {
  type: 'embedding'
  /** Length of a vector, unless the request chooses fewer. */
  dimensions: number
  /** Whether a request may choose fewer. */
  hasDimensions: boolean
  /** For each text. */
  maximumInputTokens: number
  price: EmbeddingPrice
  engine: EmbeddingEngine
}

export type EmbeddingPrice = Pick<TextPrice, 'inputPicoUsd'>

export interface ImageModel extends AnyModel {
  type: 'image'
  /** Longest prompt. */
  promptCharacters: number
  /** The first is the default. */
  formats: readonly [ImageFormat, ...ImageFormat[]]
  /** Width and height must be multiples of it. */
  sideDivisor: number
  longestSide: number
  steps: { default: number; max: number }
  /** Values of `style_preset`. */
  styles: readonly string[]
  hasNegativePrompt: boolean
  hasSeed: boolean
  price: { perImageMicroUsd: MicroUsd }
  engine: ImageEngine
}

export interface VideoModel extends AnyModel {
  type: 'video'
  constraints: VideoConstraints
  price: VideoPrice
  /** The consent policy for images with a face; null if there is none. */
  consent: ConsentPolicy | null
  /**
   * `inline`: the retrieve operation sends the file. `download_url`: the answer to a queue request contains a signed
   * URL (brief §2.7).
   */
  delivery: 'inline' | 'download_url'
  engine: VideoEngine
}

export interface VideoPrice {
  /**
   * Price per second of video at each of the model's resolutions, or at each factor of an upscaler (`2x`); `''` if it
   * has no choice.
   */
  perSecondMicroUsd: Readonly<Record<string, MicroUsd>>
  /** Surcharge for a second with audio. */
  audioPerSecondMicroUsd: MicroUsd
  /** Price per second of all reference videos together; free if absent. */
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

/** A model whose input is an image. */
export type ImageInputModel = EditModel | UpscaleModel | BackgroundModel

interface TakesImages extends AnyModel {
  /** Shortest side of an accepted image. */
  shortestSide: number
  /** Most pixels of an accepted image. */
  mostPixels: number
}

type Quality = NonNullable<EditRequest['quality']>

export interface EditModel extends TakesImages {
  /** The published word for models that change images. */
  type: 'inpaint'
  /** Longest prompt. */
  promptCharacters: number
  /** The first is the default. */
  formats: readonly [ImageFormat, ...ImageFormat[]]
  /** Empty if an image always keeps its own ratio. */
  aspectRatios: readonly string[]
  /** Images per request, up to three. */
  mostImages: number
  price: EditPrice
  engine: EditEngine
}

export interface EditPrice {
  perImageMicroUsd: MicroUsd
  /** By resolution, if a request may choose one; the first is the default. */
  resolutions?: Readonly<Record<string, MicroUsd>>
  /** By resolution and quality, if a request may choose that too. */
  quality?: Readonly<Record<string, Readonly<Partial<Record<Quality, MicroUsd>>>>>
}

export interface UpscaleModel extends TakesImages {
  type: 'upscale'
  /** Maximum number of pixels of its result. */
  mostMadePixels: number
  /** Whether it can enhance, so that a request may keep the size. */
  hasEnhance: boolean
  price: {
    /** For a scale up to 2. */
    twiceMicroUsd: MicroUsd
    /** For a larger scale. */
    fourTimesMicroUsd: MicroUsd
  }
  engine: UpscaleEngine
}

/** Farebox's own type: the published contract has none for removing backgrounds. */
export interface BackgroundModel extends TakesImages {
  type: 'background'
  price: { perImageMicroUsd: MicroUsd }
  engine: BackgroundEngine
}

export const isImageInputModel = (model: Model): model is ImageInputModel =>
  model.type === 'inpaint' || model.type === 'upscale' || model.type === 'background'

export interface SpeechModel extends AnyModel {
  type: 'tts'
  /** The first is the default. */
  voices: readonly [string, ...string[]]
  /** The default is mp3, or the first. */
  formats: readonly [SpeechFormat, ...SpeechFormat[]]
  hasSpeed: boolean
  /** Whether it accepts instructions on how to speak. */
  hasStyle: boolean
  /** Languages that may be named; any if absent, none if empty. */
  languages?: readonly string[]
  /** Whether it accepts `temperature` and `top_p`. */
  hasSampling: boolean
  /** Absent if it cannot clone voices. */
  voiceCloning?: VoiceCloning
  price: { perCharacterPicoUsd: bigint }
  engine: SpeechEngine
}

export interface VoiceCloning {
  mode: 'zero_shot' | 'persistent'
  acceptedFormats: readonly ('wav' | 'mp3' | 'flac' | 'ogg' | 'mp4' | 'webm' | 'aac')[]
  minimumSampleSeconds: number
}

export interface TranscriptionModel extends AnyModel {
  type: 'asr'
  /** Whether words or sentences come with their times. */
  hasTimestamps: boolean
  longestSeconds: number
  price: { perSecondPicoUsd: bigint }
  engine: TranscriptionEngine
}

/** Music and sound effects, made by jobs. */
export interface MusicModel extends AnyModel {
  type: 'music'
  /** In seconds: a list of options, or a range; the default applies if a request names none. */
  durations: { default: number } & ({ options: readonly number[] } | { least: number; most: number })
  promptCharacters: { least: number; most: number }
  /** Limits of lyrics; absent if it accepts none. */
  lyrics?: { characters: number; areRequired: boolean }
  hasInstrumental: boolean
  /** Whether it can write lyrics itself. */
  hasLyricsOptimizer: boolean
  /** The first is the default; empty if there is no choice. */
  voices: readonly string[]
  hasLanguageCode: boolean
  /** Absent if it cannot be chosen. */
  speed?: { least: number; most: number; default: number }
  /** Formats of its files; the first is the default. */
  formats: readonly ('mp3' | 'wav' | 'flac')[]
  price: { per: 'generation' | 'second' | 'thousand-characters'; microUsd: MicroUsd }
  engine: MusicEngine
}

type Constrained = Pick<VideoModel, 'constraints'>

/** Whether the model enlarges a given video: its record lists the factors. */
export const isUpscaler = ({ constraints }: Constrained): boolean => constraints.upscale_factors !== undefined

/** An upscaler doubles by default (brief §2.6). */
export function upscaleFactor({ constraints }: Constrained, asked: UpscaleFactor | undefined): UpscaleFactor | null {
  const { upscale_factors: factors } = constraints
  if (!factors) return null
  return asked ?? (factors.includes(2) ? 2 : (factors[0] ?? null))
}

/** Returns the media that a model accepts, as its record states or implies. */
export function takenMedia({ constraints }: Constrained): readonly VideoMediaField[] {
  if (constraints.media) return constraints.media
  if (constraints.upscale_factors) return ['video_url']
  return constraints.model_type === 'text-to-video' ? [] : ['image_url']
}

/** Brief §2.6: longest prompt of a model that sets no other limit. */
export const promptCharacters = 2_500

/** Most models of one service; the list is a single answer. */
export const modelCount = 1_000

/** How many similar ids the answer about an unknown model names; another operation returns the full list. */
export const namedModels = 3

/** A cloned voice is valid for seven days (published contract §8.3). */
export const voiceRetentionMs = 7 * dayMs

/** Tokens that chat templates add before the first message: a date, a default instruction, an introduction of tools. */
export const templateTokens = 256

/** Tokens that chat templates add around every message, beyond the bytes of its JSON. */
export const messageFrameTokens = 16

/** Without a maximum of its own, a call holds at most this fraction of the available credit. */
export const creditParts = 5n

/** A call without a maximum needs at least this many answer tokens to be useful. */
export const usefulCompletionTokens = 256

/** Most tokens that an engine may report for one call; a larger number is wrong, and we count the text instead. */
export const reportedTokens = 1_000_000_000

/** Tokens that a model adds to each text that it embeds: markers and an instruction. */
export const embeddingFrameTokens = 16
