import { z } from 'zod'
import { ContentViolation, StandardError } from './failures.ts'
import { UploadedFile } from './form-fields.ts'
import { defineOperation } from './operation.ts'
import { paidModelFailures } from './paid-failures.ts'

export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
export const SpeechFormat = z.enum(speechFormats)
export type SpeechFormat = z.output<typeof SpeechFormat>

/** What a file of each format is called on the wire; `pcm` is 16 bits, little-endian, mono, 24,000 a second. */
export const speechTypes: Record<SpeechFormat, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** OpenAI's request and some more. Voices are the model's own; its record names them. */
export const SpeechRequest = z
  .looseObject({
    model: z.string().min(1).default('default'),
    input: z.string().min(1).max(4_096),
    voice: z.string().min(1).max(4_096).optional(),
    response_format: SpeechFormat.optional(),
    speed: z.number().min(0.25).max(4).default(1),
    streaming: z.boolean().default(false),
    language: z.string().min(2).max(32).optional(),
    prompt: z.string().max(500).optional(),
    temperature: z.number().min(0).max(2).optional(),
    top_p: z.number().min(0).max(1).optional(),
  })
  .meta({ id: 'CreateSpeechRequest' })
export type SpeechRequest = z.output<typeof SpeechRequest>

export const createSpeech = defineOperation({
  id: 'createSpeech',
  method: 'POST',
  path: '/audio/speech',
  tag: 'Audio',
  summary: 'Speak a text, whole or sentence by sentence; compatible with OpenAI clients',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'audio',
  request: { body: SpeechRequest },
  answer: { bytes: Object.values(speechTypes) },
  failures: { ...paidModelFailures, 415: StandardError, 422: ContentViolation, 504: StandardError },
})

/** Published contract §8.3. */
export const VoiceRequest = z
  .looseObject({ model: z.string().min(1).default('default'), file: UploadedFile })
  .meta({ id: 'CreateVoiceRequest' })
export type VoiceRequest = z.output<typeof VoiceRequest>

export const Voice = z.strictObject({ id: z.string(), model: z.string() }).meta({ id: 'CreateVoiceResponse' })

export const createVoice = defineOperation({
  id: 'createClonedVoice',
  method: 'POST',
  path: '/audio/voices',
  tag: 'Audio',
  summary: 'Make a voice of a recording, for a model that can; its id is good for some days',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  idempotent: true,
  limit: 'audio',
  request: { body: VoiceRequest, bodyTypes: ['multipart'] },
  answer: { json: Voice },
  failures: { ...paidModelFailures, 415: StandardError, 504: StandardError },
})
