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
import type { UpstreamState } from '#engines/upstreams/upstream.ts'

/** A model as the service sells it: its public record, its price and the engine behind it. */
export type Model =
  | TextModel
  | EmbeddingModel
  | ImageModel
  | ImageInputModel
  | SpeechModel
  | TranscriptionModel
  | MusicModel
  | VideoModel

/** What every model says of itself. */
interface AnyModel {
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
  /** Ends what it runs on, once it is replaced and its last call has ended; absent where the engine's owner does. */
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
  price: { perImageMicroUsd: MicroUsd }
  engine: ImageEngine
}

export interface VideoModel extends AnyModel {
  type: 'video'
  constraints: VideoConstraints
  price: VideoPrice
  /** Whose consent policy applies to images with a face; null where none does. */
  consent: ConsentPolicy | null
  /** `inline` sends the file through retrieve; `download_url` gives a signed address when the job is queued (brief §2.7). */
  delivery: 'inline' | 'download_url'
  engine: VideoEngine
}

export interface VideoPrice {
  /** A second of video at each resolution that the model has, or at each factor of an upscaler (`2x`); `''` where it has no choice. */
  perSecondMicroUsd: Readonly<Record<string, MicroUsd>>
  /** What a second with audio costs beyond that. */
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

/** A model whose input is an image. */
export type ImageInputModel = EditModel | UpscaleModel | BackgroundModel

interface TakesImages extends AnyModel {
  /** Shortest side of an image that it takes. */
  shortestSide: number
  /** Width times height of an image that it takes. */
  mostPixels: number
}

type Quality = NonNullable<EditRequest['quality']>

export interface EditModel extends TakesImages {
  /** The published word for models that change images. */
  type: 'inpaint'
  /** Of a prompt. */
  promptCharacters: number
  /** The first is what a request gets that asks for none. */
  formats: readonly [ImageFormat, ...ImageFormat[]]
  /** Empty where an image always keeps its own. */
  aspectRatios: readonly string[]
  /** Images of one request, up to three. */
  mostImages: number
  price: EditPrice
  engine: EditEngine
}

export interface EditPrice {
  perImageMicroUsd: MicroUsd
  /** By resolution, where a request may choose one; the first is what it gets otherwise. */
  resolutions?: Readonly<Record<string, MicroUsd>>
  /** By resolution and quality, where a request may choose that too. */
  quality?: Readonly<Record<string, Readonly<Partial<Record<Quality, MicroUsd>>>>>
}

export interface UpscaleModel extends TakesImages {
  type: 'upscale'
  /** Width times height of what it makes. */
  mostMadePixels: number
  /** Whether it can enhance, and so be asked to keep the size. */
  hasEnhance: boolean
  price: {
    /** For a scale of 2 and less. */
    twiceMicroUsd: MicroUsd
    /** For a larger one. */
    fourTimesMicroUsd: MicroUsd
  }
  engine: UpscaleEngine
}

/** Farebox's own type: the published contract has none for what removes backgrounds. */
export interface BackgroundModel extends TakesImages {
  type: 'background'
  price: { perImageMicroUsd: MicroUsd }
  engine: BackgroundEngine
}

export const isImageInputModel = (model: Model): model is ImageInputModel =>
  model.type === 'inpaint' || model.type === 'upscale' || model.type === 'background'

export interface SpeechModel extends AnyModel {
  type: 'tts'
  /** The first is what a request gets that asks for none. */
  voices: readonly [string, ...string[]]
  /** A request that asks for none gets mp3, or the first. */
  formats: readonly [SpeechFormat, ...SpeechFormat[]]
  hasSpeed: boolean
  /** Whether it takes a word on how to speak. */
  hasStyle: boolean
  /** Languages that may be named; any where absent, none where empty. */
  languages?: readonly string[]
  /** Whether it takes `temperature` and `top_p`. */
  hasSampling: boolean
  /** Absent where it makes no voices of recordings. */
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

/** Music and sounds, made by jobs. */
export interface MusicModel extends AnyModel {
  type: 'music'
  /** Seconds: each that there is, or any from one to another; the default is made where a request says none. */
  durations: { default: number } & ({ options: readonly number[] } | { least: number; most: number })
  promptCharacters: { least: number; most: number }
  /** Of lyrics; absent where it takes none. */
  lyrics?: { characters: number; areRequired: boolean }
  hasInstrumental: boolean
  /** Whether it can write lyrics by itself. */
  hasLyricsOptimizer: boolean
  /** The first is the default; empty where there is no choice. */
  voices: readonly string[]
  hasLanguageCode: boolean
  /** Absent where it cannot be chosen. */
  speed?: { least: number; most: number; default: number }
  /** What its files are; the first is the usual one. */
  formats: readonly ('mp3' | 'wav' | 'flac')[]
  price: { per: 'generation' | 'second' | 'thousand-characters'; microUsd: MicroUsd }
  engine: MusicEngine
}

type Constrained = Pick<VideoModel, 'constraints'>

/** A model whose result is a given video, larger: its record lists the factors. */
export const isUpscaler = ({ constraints }: Constrained): boolean => constraints.upscale_factors !== undefined

/** Doubling is what an upscaler does unless told otherwise (brief §2.6). */
export function upscaleFactor({ constraints }: Constrained, asked: UpscaleFactor | undefined): UpscaleFactor | null {
  const { upscale_factors: factors } = constraints
  if (!factors) return null
  return asked ?? (factors.includes(2) ? 2 : (factors[0] ?? null))
}

/** The media that a model takes, as its record says or leaves to be understood. */
export function takenMedia({ constraints }: Constrained): readonly VideoMediaField[] {
  if (constraints.media) return constraints.media
  if (constraints.upscale_factors) return ['video_url']
  return constraints.model_type === 'text-to-video' ? [] : ['image_url']
}

/** Brief §2.6: a prompt's length on a model that says nothing else. */
export const promptCharacters = 2_500

/** Models of one service; the list is one answer. */
export const modelCount = 1_000

/** Ids that an answer about a model that there is not names; all of them are a list of its own. */
export const namedModels = 3

/** A voice made of a recording is good for seven days (published contract §8.3). */
export const voiceRetentionMs = 7 * dayMs

/** What chat templates add of their own before the first message: a date, a default instruction, a frame for tools. */
export const templateTokens = 256

/** What chat templates add round every message, beyond the bytes of its JSON. */
export const messageFrameTokens = 16

/** Without a maximum of its own a call holds at most this part of the available credit. */
export const creditParts = 5n

/** Tokens of an answer below which a call without a maximum is not worth starting. */
export const usefulCompletionTokens = 256

/** Tokens that an engine may report of one call; more is a fault of its counter, and the text is counted here instead. */
export const reportedTokens = 1_000_000_000

/** What a model adds to each text that it embeds: a beginning, an end, a word on what it is for. */
export const embeddingFrameTokens = 16
