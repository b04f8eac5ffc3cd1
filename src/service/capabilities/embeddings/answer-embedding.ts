import { setImmediate } from 'node:timers/promises'
import { fieldError } from '#contract/errors/issues.ts'
import { addUsd, type MicroUsd, priceLines } from '#contract/money.ts'
import type { EmbeddingInput, EmbeddingRequest, Embeddings } from '#contract/operations/embeddings.ts'
import { TokenCounter } from '#engines/tokens/count-tokens.ts'
import { boundedWait } from '#host/async.ts'
import type { Line } from '#ledger/store/units.ts'
import { type Call, json, type WholeReply } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { type EmbeddingModel, embeddingFrameTokens, reportedTokens } from '../../models/model.ts'

/** Returns the engine's vectors with our model id, charged by tokens. */
export async function answerEmbedding(call: Call, body: EmbeddingRequest, service: Service): Promise<WholeReply> {
  const model = service.catalogue.find('embedding', body.model)
  checkEmbedding(model, body)
  const parts = partsOf(body.input)
  const sale = { model: model.id, amount: embeddingHold(model, parts) }
  return sell(call, sale, service, async () => {
    const { signal } = call
    const { input, dimensions } = body
    const asked = { input, engineModel: model.engineModel, ...(dimensions === undefined ? {} : { dimensions }), signal }
    const result = await boundedWait(model.engine.embed(asked), { signal })
    signal.throwIfAborted()
    const usage = embeddingUsage(result.promptTokens, parts)
    const reply = await replyOf(model, {
      vectors: result.vectors,
      format: body.encoding_format,
      tokens: usage.tokens,
    })
    return { value: reply, lines: embeddingLines(model, usage), alsoCommit: () => call.keep(() => reply) }
  })
}

interface Result {
  vectors: readonly number[][]
  format: EmbeddingRequest['encoding_format']
  tokens: number
}

/** Numbers that are written without a pause: some ten milliseconds of work. */
const numbersAtOnce = 50_000

/**
 * A large answer is written in turns with other requests: six million numbers, which 2,048 single letters may ask for,
 * take seconds.
 */
async function replyOf({ id }: EmbeddingModel, { vectors, format, tokens }: Result): Promise<WholeReply> {
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  const rowOf = (vector: number[], index: number) =>
    ({ object: 'embedding', index, embedding: format === 'base64' ? base64Of(vector) : vector }) as const
  const width = vectors[0]?.length ?? 0
  if (vectors.length * width <= numbersAtOnce) {
    return json({ object: 'list', model: id, data: vectors.map(rowOf), usage } satisfies Embeddings)
  }
  const pieces = [Buffer.from(`{"object":"list","model":${JSON.stringify(id)},"data":[`)]
  const rowsAtOnce = Math.max(1, Math.floor(numbersAtOnce / width))
  for (let from = 0; from < vectors.length; from += rowsAtOnce) {
    const rows = vectors.slice(from, from + rowsAtOnce).map((vector, at) => rowOf(vector, from + at))
    pieces.push(Buffer.from(`${from ? ',' : ''}${JSON.stringify(rows).slice(1, -1)}`))
    await setImmediate()
  }
  pieces.push(Buffer.from(`],"usage":${JSON.stringify(usage)}}`))
  return { kind: 'bytes', mimeType: 'application/json', bytes: Buffer.concat(pieces) }
}

/** As OpenAI's clients expect: the bytes of little-endian 32-bit floats. */
function base64Of(vector: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * Float32Array.BYTES_PER_ELEMENT))
  // Node's own method takes several times as long, and an answer has millions of numbers.
  for (let index = 0; index < vector.length; index++)
    bytes.setFloat32(index * Float32Array.BYTES_PER_ELEMENT, vector[index] ?? 0, true)
  return Buffer.from(bytes.buffer).toString('base64')
}

/** Checks a request against the model's record. Throws `invalidRequest` with the allowed values. */
function checkEmbedding(model: EmbeddingModel, { dimensions, input }: EmbeddingRequest): void {
  if (dimensions !== undefined && dimensions !== model.dimensions) {
    if (!model.hasDimensions) {
      throw fieldError(['dimensions'], `${model.id} always returns ${model.dimensions} dimensions; leave it out`)
    }
    if (dimensions > model.dimensions) {
      throw fieldError(['dimensions'], `${model.id} returns ${model.dimensions} dimensions at most`)
    }
  }
  // The slow exact count is used only if the bytes could be too many tokens.
  const counter = new TokenCounter()
  for (const [index, part] of partsOf(input).entries()) {
    if (mostTokensOf(part) <= model.maximumInputTokens || tokensOf(part, counter) <= model.maximumInputTokens) continue
    const path = typeof input === 'string' || part === input ? ['input'] : ['input', index]
    throw fieldError(path, `is longer than the ${model.maximumInputTokens} tokens that ${model.id} accepts; shorten it`)
  }
}

/** The input of one vector: a text, or tokens. */
type EmbeddingPart = string | readonly number[]

/** Returns one part per requested vector. */
function partsOf(input: EmbeddingInput): readonly EmbeddingPart[] {
  if (typeof input === 'string') return [input]
  return isTokens(input) ? [input] : input
}

const isTokens = (input: readonly unknown[]): input is number[] => typeof input[0] === 'number'

/** Returns the maximum tokens of these parts: no byte is more than one token. */
const mostTokens = (parts: readonly EmbeddingPart[]): number => parts.reduce((sum, part) => sum + mostTokensOf(part), 0)

const mostTokensOf = (part: EmbeddingPart): number =>
  embeddingFrameTokens + (typeof part === 'string' ? Buffer.byteLength(part) : part.length)

/** The amount that is held before the engine is called; covers every usage that it can correctly report. */
const embeddingHold = ({ price }: Pick<EmbeddingModel, 'price'>, parts: readonly EmbeddingPart[]): MicroUsd =>
  addUsd(...priceLines([{ units: BigInt(mostTokens(parts)), unitPricePicoUsd: price.inputPicoUsd }]))

interface EmbeddingUsage {
  tokens: number
  counted: 'reported' | 'estimated'
}

/** Returns the engine's report, or our own count if it is missing or impossible. */
function embeddingUsage(reported: number | null, parts: readonly EmbeddingPart[]): EmbeddingUsage {
  // No input is empty, so zero is not a valid count.
  if (reported && reported <= reportedTokens) return { tokens: reported, counted: 'reported' }
  const counter = new TokenCounter()
  const tokens = parts.reduce((sum, part) => sum + tokensOf(part, counter), 0)
  return { tokens, counted: 'estimated' }
}

const tokensOf = (part: EmbeddingPart, counter: TokenCounter): number =>
  typeof part === 'string' ? counter.count(part) : part.length

/** The line of a charge; none if nothing was used. */
function embeddingLines({ price }: Pick<EmbeddingModel, 'price'>, { tokens, counted }: EmbeddingUsage): Line[] {
  if (tokens === 0) return []
  const priced = { units: BigInt(tokens), unitPricePicoUsd: price.inputPicoUsd }
  const sku = counted === 'estimated' ? 'embedding.input.estimated' : 'embedding.input'
  return priceLines([priced]).map(amount => ({ ...priced, sku, amount }))
}
