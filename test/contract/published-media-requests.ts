import type { PublishedRequest } from './published-request.ts'
import { among, between, bounded, flag, list, number, object, orNull, text, whole } from './published-schema.ts'

const quality = among('low', 'medium', 'high')

const imageRequest = object(
  {
    model: text,
    prompt: bounded(1, 7_500),
    negative_prompt: bounded(0, 7_500),
    cfg_scale: { type: 'number', exclusiveMinimum: 0, maximum: 20 },
    ...{ embed_exif_metadata: flag, hide_watermark: flag, return_binary: flag, safe_mode: flag },
    format: among('jpeg', 'png', 'webp'),
    height: { type: 'integer', exclusiveMinimum: 0, maximum: 1_280 },
    width: { type: 'integer', exclusiveMinimum: 0, maximum: 1_280 },
    inpaint: {},
    lora_strength: between(whole, 0, 100),
    variants: between(whole, 1, 4),
    seed: between(whole, -999_999_999, 999_999_999),
    steps: whole,
    style_preset: text,
    aspect_ratio: text,
    resolution: text,
    quality,
    enable_web_search: flag,
  },
  ['model', 'prompt'],
)

const editFields = {
  aspect_ratio: among('auto', '1:1', '3:2', '16:9', '21:9', '9:16', '2:3', '3:4', '4:5'),
  resolution: bounded(1, 10),
  modelId: { type: 'string', minLength: 1 },
  output_format: among('jpeg', 'png', 'webp'),
  prompt: bounded(1, 32_768),
  safe_mode: flag,
}

const speechRequest = object(
  {
    input: bounded(1, 4_096),
    language: bounded(2, 32),
    model: text,
    prompt: bounded(0, 500),
    response_format: among('mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'),
    speed: between(number, 0.25, 4),
    streaming: flag,
    temperature: between(number, 0, 2),
    top_p: between(number, 0, 1),
    voice: text,
  },
  ['input'],
)

const audioSeconds = {
  anyOf: [
    { type: 'integer', exclusiveMinimum: 0 },
    { type: 'string', pattern: '^\\d+$' },
  ],
}

const musicRequest = object(
  {
    model: text,
    prompt: { type: 'string', minLength: 1 },
    lyrics_prompt: text,
    duration_seconds: audioSeconds,
    force_instrumental: flag,
    lyrics_optimizer: flag,
    voice: text,
    language_code: text,
    speed: between(number, 0.25, 4),
  },
  ['model', 'prompt'],
)

const queued = { model: text, queue_id: text }

const [key, wallet] = ['authorization', 'sign-in-with-x']

/** What a public service publishes of its requests for images and sound. */
export const publishedMediaRequests: readonly PublishedRequest[] = [
  { method: 'GET', path: '/image/styles', credentials: [key] },
  {
    method: 'POST',
    path: '/image/generate',
    credentials: [key, wallet],
    headers: ['accept-encoding'],
    body: imageRequest,
  },
  {
    method: 'POST',
    path: '/image/edit',
    credentials: [key, wallet],
    body: object({ ...editFields, model: text, image: text }, ['image', 'prompt']),
  },
  {
    method: 'POST',
    path: '/image/multi-edit',
    credentials: [key, wallet],
    body: object({ ...editFields, quality, images: list(text, { minItems: 1, maxItems: 3 }) }, ['prompt', 'images']),
  },
  {
    method: 'POST',
    path: '/image/upscale',
    credentials: [key, wallet],
    body: object(
      {
        enhance: { anyOf: [flag, among('true', 'false')] },
        enhanceCreativity: orNull(between(number, 0, 1)),
        enhancePrompt: bounded(0, 1_500),
        image: text,
        replication: orNull(between(number, 0, 1)),
        scale: between(number, 1, 4),
      },
      ['image'],
    ),
  },
  {
    method: 'POST',
    path: '/image/background-remove',
    credentials: [key, wallet],
    body: object({ image: text, image_url: { type: 'string', format: 'uri' } }),
  },
  { method: 'POST', path: '/audio/speech', credentials: [key, wallet], body: speechRequest },
  {
    method: 'POST',
    path: '/audio/transcriptions',
    credentials: [key, wallet],
    form: object({ file: {}, model: text, response_format: among('json', 'text'), timestamps: text, language: text }),
  },
  {
    method: 'POST',
    path: '/audio/quote',
    credentials: [key],
    body: object(
      { model: text, duration_seconds: audioSeconds, character_count: { type: 'integer', exclusiveMinimum: 0 } },
      ['model'],
    ),
  },
  { method: 'POST', path: '/audio/queue', credentials: [key, wallet], body: musicRequest },
  {
    method: 'POST',
    path: '/audio/retrieve',
    credentials: [key, wallet],
    body: object({ ...queued, delete_media_on_completion: flag }, Object.keys(queued)),
  },
  { method: 'POST', path: '/audio/complete', credentials: [key, wallet], body: object(queued, Object.keys(queued)) },
]
