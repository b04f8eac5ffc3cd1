import { z } from 'zod'
import { StandardError } from './failures.ts'
import { FormBoolean, UploadedFile } from './form-fields.ts'
import { defineOperation } from './operation.ts'
import { paidModelFailures } from './paid-failures.ts'

/** OpenAI's form and some more. */
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

/** Times in seconds from the beginning. */
export const Transcription = z
  .strictObject({
    text: z.string(),
    duration: z.number().optional(),
    timestamps: z
      .strictObject({
        word: z.array(z.strictObject({ word: z.string(), ...span })).optional(),
        segment: z.array(z.strictObject({ text: z.string(), ...span })).optional(),
        char: z.array(z.strictObject({ char: z.string(), ...span })).optional(),
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
  summary: 'Write down what is said in a recording; compatible with OpenAI clients',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'audio',
  request: { body: TranscriptionRequest, bodyTypes: ['multipart'] },
  answer: { json: Transcription, bytes: ['text/plain'] },
  failures: { ...paidModelFailures, 415: StandardError, 422: StandardError, 504: StandardError },
})
