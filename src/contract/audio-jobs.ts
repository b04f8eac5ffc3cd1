import { z } from 'zod'
import { CodedError, ContentViolation, DetailedError, SignInError, StandardError } from './failures.ts'
import { defineOperation } from './operation.ts'
import { paidModelFailures } from './paid-failures.ts'
import { DiscoveryRequired } from './payment-required.ts'

/** Whole numbers above zero, also as texts; six digits are eleven days of music. */
const Count = z.union([
  z.number().int().positive(),
  z
    .string()
    .regex(/^\d{1,6}$/, 'a whole number')
    .transform(Number)
    .pipe(z.number().int().positive()),
])

/** Published contract §8.4: music and sounds. What a model takes of it stands in its record. */
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
  summary: 'Queue music or a sound; captured at its quote, refunded once if it fails',
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

const failures = {
  400: z.union([DetailedError, StandardError, CodedError]),
  401: z.union([StandardError, SignInError]),
  402: DiscoveryRequired,
  403: StandardError,
  404: StandardError,
  410: StandardError,
  429: StandardError,
  500: StandardError,
  503: StandardError,
}

export const quoteAudio = defineOperation({
  id: 'quoteAudio',
  method: 'POST',
  path: '/audio/quote',
  tag: 'Audio',
  summary: 'Price of music or a sound, in USD',
  auth: [],
  charge: 'free',
  limit: 'read',
  request: { body: AudioQuoteRequest },
  answer: { json: AudioQuote },
  failures: {
    400: failures[400],
    404: StandardError,
    410: StandardError,
    429: StandardError,
    500: StandardError,
    503: StandardError,
  },
})

const named = { model: z.string().min(1), queue_id: z.string().min(1) }

export const AudioRetrieveRequest = z
  .looseObject({ ...named, delete_media_on_completion: z.boolean().default(false) })
  .meta({ id: 'RetrieveAudioRequest' })

/** Both times in milliseconds; what is finished comes as its bytes, and a failure is an error answer. */
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
  summary: 'Ask after queued music; what is finished comes as bytes',
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
