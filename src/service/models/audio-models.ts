import type { MicroUsd } from '#contract/money.ts'
import type { SpeechFormat } from '#contract/operations/audio.ts'
import type { MusicEngine, SpeechEngine, TranscriptionEngine } from '#engines/ports/media-engines.ts'
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
