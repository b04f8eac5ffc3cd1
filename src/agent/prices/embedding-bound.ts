import { addUsd, type MicroUsd, priceLines } from '#contract/money.ts'
import { EmbeddingRequest } from '#contract/operations/embeddings.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { embeddingFrameTokens } from '../bounds.ts'
import { dearestPrices } from './chat-bound.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { mostOfAnswering } from './most-of-answering.ts'

/**
 * The most that vectors can cost: a byte of a text is a token at most, a token is one, and a model frames each of them.
 * Null where it cannot be said: no price, or a member that may cost more.
 */
export function embeddingBound(
  record: ModelRecord,
  body: EmbeddingRequest,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, EmbeddingRequest.shape)) return null
  const units = BigInt(mostTokens(body.input))
  return mostOfAnswering(record, records, model => {
    const prices = dearestPrices(model)
    return prices && addUsd(...priceLines([{ units, unitPricePicoUsd: prices.input }]))
  })
}

function mostTokens(input: EmbeddingRequest['input']): number {
  if (typeof input === 'string') return framed(Buffer.byteLength(input))
  const [first] = input
  if (typeof first === 'number') return framed(input.length)
  const parts = input as readonly (string | readonly number[])[]
  return parts.reduce((sum, part) => sum + framed(typeof part === 'string' ? Buffer.byteLength(part) : part.length), 0)
}

const framed = (tokens: number): number => tokens + embeddingFrameTokens
