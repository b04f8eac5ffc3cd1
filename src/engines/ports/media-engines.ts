/** Interfaces of media engines. Like all engines, they know neither accounts nor money. */
import type { SpeechFormat, Transcription } from '#contract/operations/audio.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { Recording } from '../audio/recording.ts'
import type { ImageFile } from '../images/image-file.ts'
import type { MediaFormat } from '../video-media/media-limits.ts'
import type {
  Carries,
  EditChoice,
  ImageChoice,
  MusicChoice,
  SpeechChoice,
  TranscriptionChoice,
  UpscaleChoice,
  VideoChoice,
} from './engine.ts'

/** What every call of an engine has. */
export interface EngineCall {
  /** The engine's own name for the model. */
  engineModel: string
  signal: AbortSignal
}

/** What to say, without options that its model does not support. */
export interface SpokenText {
  text: string
  /** One of the model's voices, or one that `cloneVoice` returned. */
  voice: string
  format: SpeechFormat
  speed: number
  language?: string
  /** How to say it. */
  style?: string
  temperature?: number
  topP?: number
}

export interface SpeechCall extends EngineCall {
  request: SpokenText
}

export interface VoiceCall extends EngineCall {
  sample: Recording
}

export interface SpeechEngine {
  readonly carries: Carries<SpeechChoice>
  /** Returns a complete file in the requested format; `pcm` is 16-bit little-endian mono at 24,000 Hz. */
  speak(call: SpeechCall): Promise<Buffer>
  /** Formats available on this machine now, if fewer than the model's. */
  formats?(): Promise<readonly SpeechFormat[]>
  /** Returns the engine's name for a voice cloned from this recording; absent if it cannot clone. */
  cloneVoice?(call: VoiceCall): Promise<string>
}

export interface TranscriptionCall extends EngineCall {
  recording: Recording
  /** ISO 639-1; detected by the engine if absent. */
  language?: string
  timestamps: boolean
}

export interface TranscribedSpeech extends Pick<Transcription, 'text' | 'timestamps'> {
  /** Length of the recording; null if the engine does not report it. */
  seconds: number | null
}

export interface TranscriptionEngine {
  readonly carries: Carries<TranscriptionChoice>
  transcribe(call: TranscriptionCall): Promise<TranscribedSpeech>
}

/** The input for music, without options that its model does not support. */
export interface MusicRequest {
  prompt: string
  lyrics?: string
  seconds: number
  isInstrumental: boolean
  /** Whether the engine may write lyrics itself. */
  writesLyrics: boolean
  voice?: string
  languageCode?: string
  speed?: number
}

export interface MusicCall extends EngineCall {
  request: MusicRequest
  /** The job's id, as for a video. */
  jobId: string
}

/** The file is `audio/mpeg`, `audio/wav` or `audio/flac`. */
export type MusicEngine = JobEngine<MusicCall, MusicChoice>

export interface TranscriptCall {
  /** A complete file. */
  bytes: Buffer
  /** The type that its server claims, which proves nothing. */
  mimeType: string
  signal: AbortSignal
}

export interface VideoTranscriber {
  /** Returns the speech in it, and its language (BCP 47) if known. */
  transcribe(call: TranscriptCall): Promise<{ transcript: string; lang?: string }>
}

export interface VideoCall extends EngineCall {
  request: VideoQueueRequest
  /**
   * The job's id: an engine that accepts an idempotency key uses it, so that a submission repeated after a crash makes
   * one video.
   */
  jobId: string
}

/** What an engine needs in order to find its work after a restart: plain JSON, stored in the job's row. */
export type EngineState = Record<string, unknown>

/** The state of a job's work at its engine. */
export type JobProgress =
  | { state: 'running'; engineState: EngineState }
  /**
   * The complete file is at `path`; the caller takes ownership of it. `release` lets the engine delete its own copy: call
   * it once the file is stored. It never rejects.
   */
  | { state: 'completed'; path: string; mimeType: string; release?: () => Promise<void> }
  | { state: 'failed'; reason: string; contentPolicy?: boolean }

/** An engine whose work outlives a call. */
export interface JobEngine<Call, Choice extends string> {
  readonly carries: Carries<Choice>
  /** Starts or finds this job's work. */
  start(call: Call): Promise<JobProgress>
  /** Polls the work until it is completed or failed. An error thrown here is not a result. */
  poll(call: Call, engineState: EngineState): Promise<JobProgress>
}

export type VideoEngine = JobEngine<VideoCall, VideoChoice>

/** An image or video of known type. */
export interface FaceMedia {
  kind: 'image' | 'video'
  bytes: Buffer
  /** Null for images. */
  format: MediaFormat | null
}

/**
 * Detects whether a media file shows a human face. A detector that cannot tell returns true; after an abort it throws
 * the signal's reason.
 */
export interface FaceDetector {
  hasFace(media: FaceMedia, signal?: AbortSignal): Promise<boolean>
}

/**
 * Without a detector every media file counts as one with a face, so that consent is requested too often rather than too
 * rarely.
 */
export const everyFileHasFace: FaceDetector = { hasFace: async () => true }

/** The input for an image, without options that its model does not support. */
export interface ImageRequest {
  prompt: string
  negativePrompt?: string
  width: number
  height: number
  count: number
  format: ImageFormat
  seed?: number
  steps?: number
  cfgScale?: number
  style?: string
  /** Whether the caller wants sexual images blurred; for engines that can do this themselves. */
  safeMode?: boolean
}

/** What an engine reports about its images. */
export interface EngineFinding {
  isBlurred?: boolean
  isViolation?: boolean
  isAdultViolation?: boolean
  containsMinor?: boolean
}

export interface ImageCall extends EngineCall {
  request: ImageRequest
  found?: (finding: EngineFinding) => void
}

export interface ImageEngine {
  readonly carries: Carries<ImageChoice>
  /** Returns images in the requested format, at least one and no more than requested; only those are charged. */
  generate(call: ImageCall): Promise<Buffer[]>
}

/** The input for an edit, without options that its model does not support. */
export interface EditRequest {
  prompt: string
  /** At least one; the first is the one to change. */
  images: readonly ImageFile[]
  format: ImageFormat
  /** Absent if the image keeps its own ratio. */
  aspectRatio?: string
  resolution?: string
  quality?: 'low' | 'medium' | 'high'
}

export interface EditCall extends EngineCall {
  request: EditRequest
}

export interface EditEngine {
  readonly carries: Carries<EditChoice>
  /** Returns an image in the requested format. */
  edit(call: EditCall): Promise<Buffer>
}

export interface UpscaleRequest {
  image: ImageFile
  /** From 1 to 4; 1 is for a model that enhances. */
  scale: number
  /** Only for a model that supports it; each from 0 to 1. */
  enhance?: { creativity: number; replication: number; prompt?: string }
}

export interface UpscaleCall extends EngineCall {
  request: UpscaleRequest
}

export interface UpscaleEngine {
  readonly carries: Carries<UpscaleChoice>
  /** Returns a PNG. */
  upscale(call: UpscaleCall): Promise<Buffer>
}

export interface BackgroundCall extends EngineCall {
  image: ImageFile
}

export interface BackgroundEngine {
  /** Returns a PNG with a transparent background. */
  removeBackground(call: BackgroundCall): Promise<Buffer>
}

/** What a moderator found in an image. Null if it cannot tell. */
export interface ImageFinding {
  /** Sexual content, which safe mode blurs. */
  isAdult: boolean
  /** Anything else that its policy forbids, such as gore. */
  isViolation: boolean | null
  containsMinor: boolean | null
}

/** Checks generated images before they are sold. */
export interface Moderator {
  /** Throws if it cannot check; then the image is not sold. */
  judge(image: Uint8Array, signal: AbortSignal): Promise<ImageFinding>
  /** Closes its threads and connections. */
  close?(): Promise<void>
}
