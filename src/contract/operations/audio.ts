import { z } from 'zod'
import { ContentViolation, jobFailures, paidModelFailures, readFailures, StandardError } from '../errors/failures.ts'
import { answerListOf } from '../schemas.ts'
import { FormBoolean, UploadedFile } from '../wire/form.ts'
import { defineOperation } from './operation.ts'

export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
export const SpeechFormat = z.enum(speechFormats)
export type SpeechFormat = z.output<typeof SpeechFormat>

/** The media type of each format; `pcm` is 16-bit little-endian mono at 24,000 Hz. */
export const speechTypes: Record<SpeechFormat, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** OpenAI's request with some additions. Voices are specific to the model; its record lists them. */
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
  summary: 'Convert text to speech, at once or sentence by sentence; compatible with OpenAI clients',
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
  summary: 'Create a voice from a recording, for a model that supports it; its id is valid for a few days',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  idempotent: true,
  limit: 'audio',
  request: { body: VoiceRequest, bodyTypes: ['multipart'] },
  answer: { json: Voice },
  failures: { ...paidModelFailures, 415: StandardError, 504: StandardError },
})

/** OpenAI's form with some additions. */
export const TranscriptionRequest = z
  .looseObject({
    model: z.string().min(1).default('default'),
    file: UploadedFile,
    response_format: z.enum(['json', 'text']).default('json'),
    timestamps: FormBoolean.default(false),
    language: z.string().min(2).max(32).optional(),
  })
  .meta({ id: 'CreateTranscriptionRequest' })
export type TranscriptionRequest = z.output<typeof TranscriptionRequest>

const span = { start: z.number(), end: z.number() }

/** Times in seconds from the start. */
export const Transcription = z
  .strictObject({
    text: z.string(),
    duration: z.number().optional(),
    timestamps: z
      .strictObject({
        word: answerListOf(z.strictObject({ word: z.string(), ...span })).optional(),
        segment: answerListOf(z.strictObject({ text: z.string(), ...span })).optional(),
        char: answerListOf(z.strictObject({ char: z.string(), ...span })).optional(),
      })
      .optional(),
  })
  .meta({ id: 'CreateTranscriptionResponse' })
export type Transcription = z.output<typeof Transcription>

export const createTranscription = defineOperation({
  id: 'createTranscription',
  method: 'POST',
  path: '/audio/transcriptions',
  tag: 'Audio',
  summary: 'Transcribe a recording; compatible with OpenAI clients',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'audio',
  request: { body: TranscriptionRequest, bodyTypes: ['multipart'] },
  answer: { json: Transcription, bytes: ['text/plain'] },
  failures: { ...paidModelFailures, 415: StandardError, 422: StandardError, 504: StandardError },
})

/** Positive integers, also as text; six digits are eleven days of music. */
const Count = z.union([
  z.number().int().positive(),
  z
    .string()
    .regex(/^\d{1,6}$/, 'a whole number')
    .transform(Number)
    .pipe(z.number().int().positive()),
])

/** Published contract §8.4: music and sound effects. A model's record says what it accepts. */
export const AudioQueueRequest = z
  .looseObject({
    model: z.string().min(1),
    prompt: z.string().min(1).max(10_000),
    lyrics_prompt: z.string().max(20_000).optional(),
    duration_seconds: Count.optional(),
    force_instrumental: z.boolean().optional(),
    lyrics_optimizer: z.boolean().optional(),
    voice: z.string().min(1).max(200).optional(),
    language_code: z.string().min(2).max(32).optional(),
    speed: z.number().min(0.25).max(4).optional(),
  })
  .meta({ id: 'QueueAudioRequest' })
export type AudioQueueRequest = z.output<typeof AudioQueueRequest>

export const AudioQueued = z
  .strictObject({ model: z.string(), queue_id: z.string(), status: z.literal('QUEUED') })
  .meta({ id: 'QueueAudioResponse' })

export const queueAudio = defineOperation({
  id: 'queueAudio',
  method: 'POST',
  path: '/audio/queue',
  tag: 'Audio',
  summary: 'Queue music or a sound effect; charged at its quote, refunded once if it fails',
  auth: ['apiKey', 'wallet'],
  charge: 'quote',
  limit: 'audio.queue',
  request: { body: AudioQueueRequest },
  answer: { json: AudioQueued },
  failures: { ...paidModelFailures, 422: ContentViolation },
})

export const AudioQuoteRequest = z
  .looseObject({
    model: z.string().min(1),
    duration_seconds: Count.optional(),
    character_count: z.number().int().positive().optional(),
  })
  .meta({ id: 'QuoteAudioRequest' })
export type AudioQuoteRequest = z.output<typeof AudioQuoteRequest>

export const AudioQuote = z.strictObject({ quote: z.number() }).meta({ id: 'QuoteAudioResponse' })

const failures = { ...jobFailures, 403: StandardError, 404: StandardError, 410: StandardError }

export const quoteAudio = defineOperation({
  id: 'quoteAudio',
  method: 'POST',
  path: '/audio/quote',
  tag: 'Audio',
  summary: 'Price of music or a sound effect, in USD',
  auth: [],
  charge: 'free',
  limit: 'read',
  request: { body: AudioQuoteRequest },
  answer: { json: AudioQuote },
  failures: { ...readFailures, 400: jobFailures[400], 404: StandardError, 410: StandardError },
})

const named = { model: z.string().min(1), queue_id: z.string().min(1) }

export const AudioRetrieveRequest = z
  .looseObject({ ...named, delete_media_on_completion: z.boolean().default(false) })
  .meta({ id: 'RetrieveAudioRequest' })

/** Both times in milliseconds. A finished file is returned as its bytes, a failure as an error answer. */
export const AudioStatus = z
  .strictObject({
    status: z.literal('PROCESSING'),
    average_execution_time: z.number(),
    execution_duration: z.number(),
  })
  .meta({ id: 'RetrieveAudioResponse' })

export const retrieveAudio = defineOperation({
  id: 'retrieveAudio',
  method: 'POST',
  path: '/audio/retrieve',
  tag: 'Audio',
  summary: 'Poll queued music; the finished file is returned as bytes',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'audio.retrieve',
  request: { body: AudioRetrieveRequest },
  answer: { json: AudioStatus, bytes: ['audio/mpeg', 'audio/wav', 'audio/flac'] },
  failures: { ...failures, 422: ContentViolation },
})

export const AudioDeleted = z.strictObject({ success: z.boolean() }).meta({ id: 'CompleteAudioResponse' })

export const completeAudio = defineOperation({
  id: 'completeAudio',
  method: 'POST',
  path: '/audio/complete',
  tag: 'Audio',
  summary: 'Delete the stored file of finished music',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'audio.retrieve',
  request: { body: z.looseObject(named).meta({ id: 'CompleteAudioRequest' }) },
  answer: { json: AudioDeleted },
  failures,
})
