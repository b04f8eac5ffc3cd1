import { microUsd, pricePerMillion } from '#contract/money.ts'
import { editAspectRatios } from '#contract/operations/images.ts'
import { videoMediaFields } from '#contract/operations/video.ts'
import { DemoSpeech, DemoTranscription, demoVoices } from '#engines/demo/audio.ts'
import { DemoEmbeddings, demoDimensions } from '#engines/demo/embeddings.ts'
import { DemoImageEdits, DemoImages, demoImageWorker } from '#engines/demo/images.ts'
import type { ChatEngine, EmbeddingEngine } from '#engines/ports/engine.ts'
import type {
  BackgroundEngine,
  EditEngine,
  ImageEngine,
  MusicEngine,
  UpscaleEngine,
  VideoEngine,
} from '#engines/ports/media-engines.ts'
import type {
  BackgroundModel,
  ConsentPolicy,
  EditModel,
  EmbeddingModel,
  ImageInputModel,
  ImageModel,
  Model,
  MusicModel,
  SpeechModel,
  TextModel,
  TranscriptionModel,
  UpscaleModel,
  VideoModel,
} from './model.ts'

export interface DemoEngines {
  chat: ChatEngine
  /** Created if absent, because they need no settings. */
  embeddings?: EmbeddingEngine
  images?: ImageEngine
  imageEdits?: DemoImageEdits
  video: VideoEngine
  /** Needs a work folder; without it, there is no music. */
  music?: MusicEngine
}

/** 2026-11-01, when the first of these models were offered. */
const modelsAtSeconds = 1_793_491_200

/** 2026-11-22, when the others were offered. */
const mediaAtSeconds = 1_795_305_600

const demo = (id: string, createdAt = mediaAtSeconds) => ({
  ...{ id, createdAt, privacy: 'private' as const, traits: ['default'], engineName: 'demo', engineModel: id },
})

/** The models of a service without engines of its own; the description of each says that it is a demonstration. */
export function demoModels({ chat, embeddings, images, imageEdits, video, music }: DemoEngines): Model[] {
  const worker = demoImageWorker()
  return [
    demoChat(chat),
    demoEmbedding(embeddings ?? new DemoEmbeddings()),
    demoImage(images ?? new DemoImages(worker)),
    ...demoImageInputModels(imageEdits ?? new DemoImageEdits(worker)),
    demoVideo(video, 'demo-video', 'inline'),
    demoVideo(video, 'demo-video-url', 'download_url'),
    demoStudio(video),
    demoUpscaler(video),
    demoSpeech(),
    demoTranscription(),
    ...(music ? [demoMusic(music)] : []),
  ]
}

const demoChat = (engine: ChatEngine): TextModel => ({
  type: 'text',
  ...demo('demo-chat', modelsAtSeconds),
  name: 'Demo chat',
  description:
    'A demonstration without a language model behind it: it answers from the request itself, counts real tokens and streams.',
  tier: 'XS',
  contextTokens: 131_072,
  maximumCompletionTokens: 16_384,
  price: {
    inputPicoUsd: perMillion('0.15'),
    outputPicoUsd: perMillion('0.60'),
  },
  capabilities: {
    optimizedForCode: false,
    quantization: 'not-available',
    supportsFunctionCalling: false,
    supportsAudioInput: false,
    supportsReasoning: true,
    supportsReasoningEffort: true,
    supportsResponseSchema: false,
    supportsMultipleImages: true,
    supportsVision: true,
    supportsVideoInput: false,
    supportsWebSearch: true,
    supportsLogProbs: false,
    supportsTeeAttestation: false,
    supportsE2EE: false,
    supportsXSearch: false,
  },
  engine,
})

const demoEmbedding = (engine: EmbeddingEngine): EmbeddingModel => ({
  type: 'embedding',
  ...demo('demo-embedding', modelsAtSeconds),
  name: 'Demo embedding',
  description:
    'A demonstration without a model: vectors of the words and parts of words in a text. Texts that share many of them get similar vectors.',
  dimensions: demoDimensions,
  hasDimensions: true,
  maximumInputTokens: 8_192,
  price: { inputPicoUsd: perMillion('0.02') },
  engine,
})

const demoImage = (engine: ImageEngine): ImageModel => ({
  type: 'image',
  ...demo('demo-image', modelsAtSeconds),
  name: 'Demo image',
  description: 'A demonstration: a real PNG that shows the words of the prompt, on colours that depend on it.',
  promptCharacters: 1_500,
  formats: ['png'],
  sideDivisor: 8,
  longestSide: 1_792,
  steps: { default: 1, max: 1 },
  styles: ['Demo Poster', 'Demo Sketch'],
  hasNegativePrompt: false,
  hasSeed: true,
  price: { perImageMicroUsd: microUsd(10_000) },
  engine,
})

const demoVideo = (engine: VideoEngine, id: string, delivery: VideoModel['delivery']): VideoModel => ({
  type: 'video',
  ...demo('demo-video', modelsAtSeconds),
  id,
  name: delivery === 'inline' ? 'Demo video' : 'Demo video by download link',
  description:
    delivery === 'inline'
      ? 'A demonstration: a real MP4 drawn from the words of the prompt, with the given image as background.'
      : 'A demonstration: the same as demo-video, but delivered through a signed download link instead of in the answer to a poll.',
  traits: delivery === 'inline' ? ['default'] : [],
  constraints: {
    aspect_ratios: ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9'],
    resolutions: ['480p', '360p', '720p', '1080p'],
    durations: ['2s', '3s', '4s', '5s', '6s', '8s', '10s', 'Auto', '1 gen'],
    model_type: 'video',
    audio: true,
    audio_configurable: true,
    prompt_character_limit: 2_500,
  },
  price: {
    perSecondMicroUsd: {
      '360p': microUsd(15_000),
      '480p': microUsd(20_000),
      '720p': microUsd(40_000),
      '1080p': microUsd(80_000),
    },
    audioPerSecondMicroUsd: microUsd(5_000),
  },
  consent: demoConsent,
  delivery,
  engine,
})

/** Separate from the others, because every media file that it accepts may show a face and then needs consent. */
const demoStudio = (engine: VideoEngine): VideoModel => {
  const model = demoVideo(engine, 'demo-video-studio', 'inline')
  return {
    ...model,
    name: 'Demo video studio',
    description:
      'A demonstration that accepts every kind of media: a video or image as background, an end frame, references, elements (@Element1) and scenes (@Image1) as tiles, and your audio in place of its own.',
    traits: [],
    engineModel: 'demo-video-studio',
    constraints: { ...model.constraints, media: [...videoMediaFields] },
    price: { ...model.price, referencePerSecondMicroUsd: microUsd(2_000) },
  }
}

const demoUpscaler = (engine: VideoEngine): VideoModel => ({
  type: 'video',
  ...demo('demo-video-upscale', modelsAtSeconds),
  name: 'Demo video upscaler',
  description:
    'A demonstration without a model behind it: enlarges a video (video_url, at most 300 s) by a filter, 1, 2 or 4 times by upscale_factor.',
  traits: [],
  constraints: {
    aspect_ratios: [],
    resolutions: [],
    durations: [],
    model_type: 'video',
    audio: true,
    audio_configurable: false,
    media: ['video_url'],
    upscale_factors: [1, 2, 4],
  },
  price: {
    perSecondMicroUsd: { '1x': microUsd(2_000), '2x': microUsd(4_000), '4x': microUsd(12_000) },
    audioPerSecondMicroUsd: microUsd(0),
  },
  consent: null,
  delivery: 'inline',
  engine,
})

const demoConsent: ConsentPolicy = {
  provider: 'demo',
  title: 'Images of people in demonstration videos',
  version: 'v1.0',
  text: [
    'You are about to make a video from an image that may show a person.',
    'Go on only if the likeness in it is your own, or if every person who can be recognized has agreed to this use, freely and in a form that you can show.',
    'For a child, a parent or guardian must have agreed, and the video must not be one that could harm or sexualize the child.',
    'You hold the rights to the image, or have the permission of its owner, and its use breaks no law where you are.',
    'You will not use the video to deceive, to harass, to impersonate anyone, or to suggest that a person said or did what they did not.',
    'Media that you send may be screened automatically, and where needed by people, and a request may be refused as a result.',
    'Where the law or a complaint of a person shown requires it, the video and the image are deleted and the facts of this consent may be disclosed.',
    'This demonstration runs on the machine of the operator of this service; the image is kept until the video is made, and no longer.',
    'By agreeing you confirm these terms and the privacy notice of the operator, your legal right to use the likeness, and that you know about the screening.',
  ].join(' '),
}

function perMillion(usd: string): bigint {
  const pico = pricePerMillion(usd)
  if (pico === null) throw new Error(`${usd} is not a price.`)
  return pico
}

export const demoSpeech = (): SpeechModel => ({
  ...demo('demo-speech'),
  type: 'tts',
  name: 'Demo speech',
  description: 'A demonstration without a voice behind it: real audio that hums the letters of a text.',
  voices: demoVoices,
  formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
  hasSpeed: true,
  hasStyle: false,
  hasSampling: false,
  // 10 USD per million characters.
  price: { perCharacterPicoUsd: 10_000_000n },
  engine: new DemoSpeech(),
})

const demoTranscription = (): TranscriptionModel => ({
  ...demo('demo-asr'),
  type: 'asr',
  name: 'Demo transcription',
  description:
    'A demonstration that does not recognize speech: it measures how long a recording is, and answers with a sentence about it.',
  hasTimestamps: false,
  longestSeconds: 3_600,
  // 0.0001 USD per second.
  price: { perSecondPicoUsd: 100_000_000n },
  engine: new DemoTranscription(),
})

export const demoMusic = (engine: MusicEngine): MusicModel => ({
  ...demo('demo-music'),
  type: 'music',
  name: 'Demo music',
  description: 'A demonstration without a model: real audio with a melody that depends on the prompt.',
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

const inputs = { shortestSide: 8, mostPixels: 16_777_216 }

/** Demonstrations that start from an image; the text of each says so. */
const demoImageInputModels = (engine: EditEngine & UpscaleEngine & BackgroundEngine): ImageInputModel[] => [
  demoEdit(engine),
  demoUpscale(engine),
  demoBackground(engine),
]

const demoEdit = (engine: EditEngine): EditModel => ({
  ...demo('demo-edit'),
  ...inputs,
  type: 'inpaint',
  name: 'Demo edit',
  description:
    'A demonstration: the images side by side above the prompt, whose words grey, sepia, invert, brighter, darker and mirror change them.',
  promptCharacters: 2_000,
  formats: ['png'],
  aspectRatios: editAspectRatios.filter(ratio => ratio !== 'auto'),
  mostImages: 3,
  price: { perImageMicroUsd: microUsd(20_000) },
  engine,
})

const demoUpscale = (engine: UpscaleEngine): UpscaleModel => ({
  ...demo('demo-upscale'),
  ...inputs,
  type: 'upscale',
  name: 'Demo upscale',
  description: 'A demonstration without a model behind it: a larger image by bicubic interpolation, no sharper.',
  mostMadePixels: 16_777_216,
  hasEnhance: false,
  price: { twiceMicroUsd: microUsd(10_000), fourTimesMicroUsd: microUsd(30_000) },
  engine,
})

const demoBackground = (engine: BackgroundEngine): BackgroundModel => ({
  ...demo('demo-background'),
  ...inputs,
  type: 'background',
  name: 'Demo background removal',
  description:
    'A demonstration without a model: makes the area of the border’s colour that touches the border transparent.',
  price: { perImageMicroUsd: microUsd(10_000) },
  engine,
})
