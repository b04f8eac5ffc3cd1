import type { SpeechFormat } from '#contract/speech.ts'
import type { SpeechEngine, TranscriptionEngine } from '../engines/audio-engines.ts'
import type { AnyModel } from './model.ts'

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
