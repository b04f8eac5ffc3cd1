import { z } from 'zod'
import { paidFailures, StandardError } from '../errors/failures.ts'
import { defineOperation } from './operation.ts'

/** What is said in a video (published contract §4.6). */

export const VideoTranscriptionRequest = z
  .looseObject({ url: z.string().min(1).max(8_192), response_format: z.enum(['json', 'text']).default('json') })
  .meta({ id: 'CreateVideoTranscriptionRequest' })
export type VideoTranscriptionRequest = z.output<typeof VideoTranscriptionRequest>

export const VideoTranscript = z
  .strictObject({ transcript: z.string(), lang: z.string().optional() })
  .meta({ id: 'VideoTranscript' })
export type VideoTranscript = z.output<typeof VideoTranscript>

export const createVideoTranscription = defineOperation({
  id: 'createVideoTranscription',
  method: 'POST',
  path: '/video/transcriptions',
  tag: 'Video',
  summary: 'Write down what is said in a video',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'augment',
  request: { body: VideoTranscriptionRequest },
  answer: { json: VideoTranscript, bytes: 'text/plain' },
  failures: { ...paidFailures, 415: StandardError },
})
