import { z } from 'zod'
import { mostDimensions } from '#contract/limits.ts'
import { listOf } from '#contract/schemas.ts'
import { OpenAiUpstream } from '../http/upstream.ts'
import { eventError } from '../http/upstream-error.ts'
import type { UpstreamOptions } from '../http/upstream-options.ts'
import { carriesAll, type EmbeddingCall, type EmbeddingEngine, type EmbeddingResult } from '../ports/engine.ts'

/** Largest answer: 2,048 vectors of 1,024 dimensions, each printed in up to 22 characters. */
const vectorBytes = 64 * 1024 * 1024

/** Numbers, or the bytes of little-endian 32-bit floats; anything else is not a vector. */
const Vector = z.union([listOf(z.number()).min(1).max(mostDimensions), z.base64().min(1).transform(floatsOf)])

const Answer = z.looseObject({
  data: listOf(z.looseObject({ index: z.number().int().min(0).optional(), embedding: Vector })),
  usage: z
    .looseObject({ prompt_tokens: z.number().int().min(0) })
    .nullish()
    .catch(null),
})

/** Any server with OpenAI's embeddings API. */
export class OpenAiEmbeddings implements EmbeddingEngine {
  readonly carries = carriesAll
  readonly #upstream: OpenAiUpstream

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: UpstreamOptions) {
    this.#upstream = new OpenAiUpstream(options, '/embeddings')
  }

  async embed({ input, engineModel, dimensions, signal }: EmbeddingCall): Promise<EmbeddingResult> {
    const request = { input, ...(dimensions === undefined ? {} : { dimensions }) }
    // Base64 takes a quarter of the bytes of printed numbers; a server that does not support it sends numbers.
    const body = { model: engineModel, ...request, encoding_format: 'base64' }
    try {
      const value = await this.#upstream.json({ body, request, signal }, vectorBytes)
      if (value?.error && !value.data) throw eventError(value.error, request)
      return resultOf(value, countOf(input), dimensions)
    } catch (error) {
      throw this.#upstream.known(error, signal)
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

function floatsOf(base64: string, context: z.RefinementCtx): number[] {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length > mostDimensions * floatBytes) {
    context.addIssue('are too many')
    return []
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const vector: number[] = []
  // Node's own method takes ten times as long, and an answer has millions of numbers.
  for (let at = 0; at + floatBytes <= bytes.length; at += floatBytes) vector.push(view.getFloat32(at, true))
  if (bytes.length % floatBytes || !vector.every(Number.isFinite)) context.addIssue('are not 32-bit floats')
  return vector
}

/** A caller may want the bytes of 32-bit floats, whatever the engine sends. */
const isFloat = (value: number): boolean => Number.isFinite(Math.fround(value))

const floatBytes = Float32Array.BYTES_PER_ELEMENT

const countOf = (input: EmbeddingCall['input']): number =>
  typeof input === 'string' || typeof input[0] === 'number' ? 1 : input.length

/**
 * Requires exactly one vector per input, in order and of the requested length; anything else is not what the caller pays
 * for.
 */
function resultOf(value: unknown, count: number, dimensions: number | undefined): EmbeddingResult {
  const answer = Answer.safeParse(value).data
  const rows = answer?.data.map((row, place) => ({ index: row.index ?? place, vector: row.embedding })) ?? []
  const vectors = rows.sort((one, other) => one.index - other.index).map(({ vector }) => vector)
  const isWhole = rows.length === count && rows.every(({ index }, place) => index === place)
  const length = dimensions ?? vectors[0]?.length
  if (!answer || !isWhole || !vectors.every(vector => vector.length === length && vector.every(isFloat))) {
    throw new Error("The engine's answer has no embeddings for this request.")
  }
  return { vectors, promptTokens: answer.usage?.prompt_tokens ?? null }
}
