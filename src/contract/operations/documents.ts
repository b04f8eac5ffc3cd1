import { z } from 'zod'
import { paidFailures, StandardError } from '../errors/failures.ts'
import { UploadedFile } from '../wire/form.ts'
import { defineOperation } from './operation.ts'

/** The text of a document (published contract §15). */

/** Largest file, in bytes. */
export const documentBytes = 25 * 1024 * 1024

export const TextParserRequest = z
  .looseObject({ file: UploadedFile, response_format: z.enum(['json', 'text']).default('json') })
  .meta({ id: 'TextParserRequest' })
export type TextParserRequest = z.output<typeof TextParserRequest>

export const ParsedText = z
  .strictObject({ text: z.string(), tokens: z.number().int() })
  .meta({ id: 'TextParserResponse' })
export type ParsedText = z.output<typeof ParsedText>

export const createTextParser = defineOperation({
  id: 'createTextParser',
  method: 'POST',
  path: '/augment/text-parser',
  tag: 'Augment',
  summary: 'Extract the text of a document',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'augment',
  request: { body: TextParserRequest, bodyTypes: ['multipart'] },
  answer: { json: ParsedText, bytes: 'text/plain' },
  failures: { ...paidFailures, 415: StandardError },
})
