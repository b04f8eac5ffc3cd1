/** What models of sound run on; as the other engines, these know neither accounts nor money. */
import type { SpeechFormat, Transcription } from '#contract/operations/audio.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { Recording } from '../sound/sound-type.ts'
import type { MediaFormat } from '../video-media/media-format.ts'
import type { Carries, MusicChoice, SpeechChoice, TranscriptionChoice, VideoChoice } from './carried-choices.ts'

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

/** A picture or a video whose type is known. */
export interface FaceMedium {
  kind: 'image' | 'video'
  bytes: Buffer
  /** Null for pictures. */
  format: MediaFormat | null
}

/** Whether a medium shows a human face. One that cannot tell says yes; when nobody asks any more, the signal's reason is thrown. */
export interface FaceDetector {
  hasFace(medium: FaceMedium, signal?: AbortSignal): Promise<boolean>
}

/** Without a detector every medium counts as one with a face: consent is asked too often rather than too seldom. */
export const everyMediumHasAFace: FaceDetector = { hasFace: async () => true }
