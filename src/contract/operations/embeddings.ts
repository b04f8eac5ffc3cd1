import { z } from 'zod'
import { paidModelFailures, StandardError } from '../errors/failures.ts'
import { answerListOf, listOf } from '../schemas.ts'
import { defineOperation } from './operation.ts'

const embeddingInputs = 2_048

const Token = z.number().int().min(1)
const Tokens = listOf(Token).min(1)

/** One or many texts, or the model's own tokens (published contract §9). */
const EmbeddingInput = z.union([
  z.string().min(1),
  listOf(z.string().min(1)).min(1).max(embeddingInputs),
  Tokens.max(embeddingInputs),
  listOf(Tokens).min(1).max(embeddingInputs),
])
export type EmbeddingInput = z.output<typeof EmbeddingInput>

export const EmbeddingRequest = z
  .object({
    model: z.string().min(1),
    input: EmbeddingInput,
    dimensions: z.number().int().min(1).optional(),
    encoding_format: z.enum(['float', 'base64']).default('float'),
    user: z.string().optional(),
  })
  .meta({ id: 'EmbeddingRequest' })
export type EmbeddingRequest = z.output<typeof EmbeddingRequest>

export const Embeddings = z
  .strictObject({
    object: z.literal('list'),
    model: z.string(),
    data: answerListOf(
      z.strictObject({
        object: z.literal('embedding'),
        index: z.number().int().min(0),
        /** In base64, the bytes of little-endian 32-bit floats. */
        embedding: z.union([listOf(z.number()), z.string()]),
      }),
    ),
    usage: z.strictObject({ prompt_tokens: z.number().int().min(0), total_tokens: z.number().int().min(0) }),
  })
  .meta({ id: 'Embeddings' })
export type Embeddings = z.output<typeof Embeddings>

export const createEmbedding = defineOperation({
  id: 'createEmbedding',
  method: 'POST',
  path: '/embeddings',
  tag: 'Embeddings',
  summary: 'Create embeddings of texts; compatible with OpenAI clients',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'embedding',
  request: { body: EmbeddingRequest },
  answer: { json: Embeddings },
  failures: {
    ...paidModelFailures,
    415: StandardError,
    504: StandardError,
  },
})
