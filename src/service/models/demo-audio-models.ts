import { microUsd } from '#contract/money.ts'
import { DemoSpeech, DemoTranscription, demoVoices } from '#engines/demo/audio.ts'
import type { MusicEngine } from '#engines/ports/media-engines.ts'
import type { MusicModel, SpeechModel, TranscriptionModel } from './audio-models.ts'

/** 2026-11-22, when these models were first offered. */
const createdAt = 1_795_305_600

const demo = { createdAt, privacy: 'private', traits: ['default'], engineName: 'demo' } as const

export const demoSpeech = (): SpeechModel => ({
  ...demo,
  type: 'tts',
  id: 'demo-speech',
  name: 'Demo speech',
  description: 'A demonstration without a voice behind it: real sound that hums the letters of a text.',
  engineModel: 'demo-speech',
  voices: demoVoices,
  formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
  hasSpeed: true,
  hasStyle: false,
  hasSampling: false,
  // 10 USD a million characters.
  price: { perCharacterPicoUsd: 10_000_000n },
  engine: new DemoSpeech(),
})

export const demoTranscription = (): TranscriptionModel => ({
  ...demo,
  type: 'asr',
  id: 'demo-asr',
  name: 'Demo transcription',
  description: 'A demonstration that hears no words, and says so: it measures a recording and answers how long it is.',
  engineModel: 'demo-asr',
  hasTimestamps: false,
  longestSeconds: 3_600,
  // 0.0001 USD a second.
  price: { perSecondPicoUsd: 100_000_000n },
  engine: new DemoTranscription(),
})

export const demoMusic = (engine: MusicEngine): MusicModel => ({
  ...demo,
  type: 'music',
  id: 'demo-music',
  name: 'Demo music',
  description: 'A demonstration without a model behind it: real sound, a melody of tones that follows from the prompt.',
  engineModel: 'demo-music',
  durations: { default: 8, least: 1, most: 30 },
  promptCharacters: { least: 1, most: 1_000 },
  lyrics: { characters: 2_000, areRequired: false },
  hasInstrumental: true,
  hasLyricsOptimizer: false,
  voices: [],
  hasLanguageCode: false,
  formats: ['mp3', 'wav'],
  price: { per: 'second', microUsd: microUsd(1_000) },
  engine,
})
