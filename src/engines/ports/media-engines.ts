/** Ports of media engines. Like all engines, they know neither accounts nor money. */
import type { SpeechFormat, Transcription } from '#contract/operations/audio.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { Recording } from '../audio/recording.ts'
import type { ImageFile } from '../images/image-file.ts'
import type { MediaFormat } from '../video-media/request-media.ts'
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

/** What is to be said, with nothing that its model does not take. */
export interface SpokenText {
  text: string
  /** One of the model's, or what `cloneVoice` gave. */
  voice: string
  format: SpeechFormat
  speed: number
  language?: string
  /** How it is to be said. */
  style?: string
  temperature?: number
  topP?: number
}

export interface SpeechCall {
  request: SpokenText
  engineModel: string
  signal: AbortSignal
}

export interface VoiceCall {
  sample: Recording
  engineModel: string
  signal: AbortSignal
}

export interface SpeechEngine {
  readonly carries: Carries<SpeechChoice>
  /** A whole file in the format of the request; `pcm` is 16 bits, little-endian, mono, 24,000 a second. */
  speak(call: SpeechCall): Promise<Buffer>
  /** Formats that can be made here and now, where those are fewer than the model's. */
  formats?(): Promise<readonly SpeechFormat[]>
  /** The engine's own name of a voice made from this recording; absent where it makes none. */
  cloneVoice?(call: VoiceCall): Promise<string>
}

export interface TranscriptionCall {
  recording: Recording
  /** ISO 639-1; the engine finds out by itself where absent. */
  language?: string
  timestamps: boolean
  engineModel: string
  signal: AbortSignal
}

export interface TranscribedSpeech extends Pick<Transcription, 'text' | 'timestamps'> {
  /** Length of the recording; null where the engine does not say. */
  seconds: number | null
}

export interface TranscriptionEngine {
  readonly carries: Carries<TranscriptionChoice>
  transcribe(call: TranscriptionCall): Promise<TranscribedSpeech>
}

/** What music is made of, with nothing that its model does not take. */
export interface MusicRequest {
  prompt: string
  lyrics?: string
  seconds: number
  isInstrumental: boolean
  /** Whether the engine may write lyrics by itself. */
  writesLyrics: boolean
  voice?: string
  languageCode?: string
  speed?: number
}

export interface MusicCall {
  request: MusicRequest
  engineModel: string
  /** The job's id, as for a video. */
  jobId: string
  signal: AbortSignal
}

export interface MusicEngine {
  readonly carries: Carries<MusicChoice>
  /** Starts or finds the work of this job. The file is `audio/mpeg`, `audio/wav` or `audio/flac`. */
  start(call: MusicCall): Promise<JobProgress>
  /** Looks after it; called again until it is completed or failed. An error thrown here is no verdict. */
  poll(call: MusicCall, engineState: EngineState): Promise<JobProgress>
}

export interface TranscriptCall {
  /** A whole file. */
  bytes: Buffer
  /** As its server said; it proves nothing. */
  mimeType: string
  signal: AbortSignal
}

export interface VideoTranscriber {
  /** What is said in it, and its language (BCP 47) where that is known. */
  transcribe(call: TranscriptCall): Promise<{ transcript: string; lang?: string }>
}

export interface VideoCall {
  request: VideoQueueRequest
  engineModel: string
  /** The job's id: an engine that takes an idempotency key uses it, so that a submission repeated after a crash makes one video. */
  jobId: string
  signal: AbortSignal
}

/** What an engine needs in order to find its work again after a restart: plain JSON, kept in the job's row. */
export type EngineState = Record<string, unknown>

/** How the work of a job stands at its engine. */
export type JobProgress =
  | { state: 'running'; engineState: EngineState }
  /** The file lies at `path`, written whole; the caller takes it over. */
  | { state: 'completed'; path: string; mimeType: string }
  | { state: 'failed'; reason: string; contentPolicy?: boolean }

export interface VideoEngine {
  readonly carries: Carries<VideoChoice>
  /** Starts or finds the work of this job. */
  start(call: VideoCall): Promise<JobProgress>
  /** Looks after it; called again until it is completed or failed. An error thrown here is no verdict. */
  poll(call: VideoCall, engineState: EngineState): Promise<JobProgress>
}

/** An image or a video whose type is known. */
export interface FaceMedium {
  kind: 'image' | 'video'
  bytes: Buffer
  /** Null for images. */
  format: MediaFormat | null
}

/**
 * Whether a media file shows a human face. One that cannot tell says yes; when nobody asks any more, the signal's
 * reason is thrown.
 */
export interface FaceDetector {
  hasFace(medium: FaceMedium, signal?: AbortSignal): Promise<boolean>
}

/** Without a detector every media file counts as one with a face: consent is asked too often rather than too seldom. */
export const everyMediumHasAFace: FaceDetector = { hasFace: async () => true }

/** What an image is made of, with nothing that its model does not take. */
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
  /** Whether the caller wants sexual images blurred; for engines that can do so themselves. */
  safeMode?: boolean
}

/** What an engine says that it found in its images. */
export interface EngineFinding {
  isBlurred?: boolean
  isViolation?: boolean
  isAdultViolation?: boolean
  containsMinor?: boolean
}

export interface ImageCall {
  request: ImageRequest
  engineModel: string
  signal: AbortSignal
  found?: (finding: EngineFinding) => void
}

export interface ImageEngine {
  readonly carries: Carries<ImageChoice>
  /** Images in the format of the request, one at least and no more than were asked for; only those are charged. */
  generate(call: ImageCall): Promise<Buffer[]>
}

/** What is made of images, with nothing that its model does not take. */
export interface EditRequest {
  prompt: string
  /** One at least, the first is the one to change. */
  images: readonly ImageFile[]
  format: ImageFormat
  /** Absent where the image keeps its own. */
  aspectRatio?: string
  resolution?: string
  quality?: 'low' | 'medium' | 'high'
}

export interface EditCall {
  request: EditRequest
  engineModel: string
  signal: AbortSignal
}

export interface EditEngine {
  readonly carries: Carries<EditChoice>
  /** An image in the format of the request. */
  edit(call: EditCall): Promise<Buffer>
}

export interface UpscaleRequest {
  image: ImageFile
  /** From 1 to 4; 1 is for a model that enhances. */
  scale: number
  /** Only for a model that has it; each from 0 to 1. */
  enhance?: { creativity: number; replication: number; prompt?: string }
}

export interface UpscaleCall {
  request: UpscaleRequest
  engineModel: string
  signal: AbortSignal
}

export interface UpscaleEngine {
  readonly carries: Carries<UpscaleChoice>
  /** A PNG. */
  upscale(call: UpscaleCall): Promise<Buffer>
}

export interface BackgroundCall {
  image: ImageFile
  engineModel: string
  signal: AbortSignal
}

export interface BackgroundEngine {
  /** A PNG whose background is transparent. */
  removeBackground(call: BackgroundCall): Promise<Buffer>
}

/** What a moderator found in an image. Null is what it cannot tell. */
export interface ImageFinding {
  /** Sexual content: what safe mode blurs. */
  isAdult: boolean
  /** Anything else that its policy forbids, such as gore. */
  isViolation: boolean | null
  containsMinor: boolean | null
}

/** Looks at images that were made here, before they are sold. */
export interface Moderator {
  /** Throws where it cannot look: then the image is not sold. */
  judge(image: Uint8Array, signal: AbortSignal): Promise<ImageFinding>
  /** Ends its threads and connections. */
  close?(): Promise<void>
}
