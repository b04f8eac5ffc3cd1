import { microUsd } from '#contract/money.ts'
import { editAspectRatios } from '#contract/operations/images.ts'
import { DemoSpeech, DemoTranscription, demoVoices } from '#engines/demo/audio.ts'
import type { BackgroundEngine, EditEngine, MusicEngine, UpscaleEngine } from '#engines/ports/media-engines.ts'
import type {
  BackgroundModel,
  EditModel,
  ImageInputModel,
  MusicModel,
  SpeechModel,
  TranscriptionModel,
  UpscaleModel,
} from './model.ts'

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

const shared = {
  createdAt,
  privacy: 'private',
  traits: ['default'],
  engineName: 'demo',
  shortestSide: 8,
  mostPixels: 16_777_216,
} as const

/** Demonstrations of what begins with a picture; each says that it is one. */
export const demoImageInputModels = (engine: EditEngine & UpscaleEngine & BackgroundEngine): ImageInputModel[] => [
  demoEdit(engine),
  demoUpscale(engine),
  demoBackground(engine),
]

const demoEdit = (engine: EditEngine): EditModel => ({
  ...shared,
  type: 'inpaint',
  id: 'demo-edit',
  name: 'Demo edit',
  description:
    'A demonstration: pictures side by side, changed where the prompt says grey, sepia, invert, brighter, darker or mirror, with its words over the lower edge.',
  engineModel: 'demo-edit',
  promptCharacters: 2_000,
  formats: ['png'],
  aspectRatios: editAspectRatios.filter(ratio => ratio !== 'auto'),
  mostPictures: 3,
  price: { perPictureMicroUsd: microUsd(20_000) },
  engine,
})

const demoUpscale = (engine: UpscaleEngine): UpscaleModel => ({
  ...shared,
  type: 'upscale',
  id: 'demo-upscale',
  name: 'Demo upscale',
  description: 'A demonstration without a model behind it: a larger picture by bicubic arithmetic, no sharper.',
  engineModel: 'demo-upscale',
  mostMadePixels: 16_777_216,
  hasEnhance: false,
  price: { twiceMicroUsd: microUsd(10_000), fourTimesMicroUsd: microUsd(30_000) },
  engine,
})

const demoBackground = (engine: BackgroundEngine): BackgroundModel => ({
  ...shared,
  type: 'background',
  id: 'demo-background',
  name: 'Demo background removal',
  description:
    'A demonstration without a model behind it: what has the colour of the border, and can be reached from there, becomes transparent.',
  engineModel: 'demo-background',
  price: { perPictureMicroUsd: microUsd(10_000) },
  engine,
})
