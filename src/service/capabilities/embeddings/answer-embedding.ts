import { fieldError } from '#contract/errors/issues.ts'
import type { EmbeddingRequest, Embeddings } from '#contract/operations/embeddings.ts'
import { TokenCounter } from '#engines/tokens/count-tokens.ts'
import { boundedWait } from '#host/async.ts'
import { type Call, type JsonReply, json } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import type { EmbeddingModel } from '../../models/model.ts'
import { embeddingHold, embeddingLines, embeddingUsage, mostTokensOf, partsOf, tokensOf } from './price-embedding.ts'

/** Vectors of the engine, under our model's id, charged by their tokens. */
export async function answerEmbedding(call: Call, body: EmbeddingRequest, service: Service): Promise<JsonReply> {
  const model = service.catalogue.embedding(body.model)
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
    const reply = json(answerOf(model, { vectors: result.vectors, format: body.encoding_format, tokens: usage.tokens }))
    return { value: reply, lines: embeddingLines(model, usage), alsoCommit: () => call.keep(() => reply) }
  })
}

interface Result {
  vectors: readonly number[][]
  format: EmbeddingRequest['encoding_format']
  tokens: number
}

const answerOf = ({ id }: EmbeddingModel, { vectors, format, tokens }: Result): Embeddings => ({
  object: 'list',
  model: id,
  data: vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: format === 'base64' ? base64Of(vector) : vector,
  })),
  usage: { prompt_tokens: tokens, total_tokens: tokens },
})

/** As OpenAI's clients read it: the bytes of little-endian 32-bit floats. */
function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * Float32Array.BYTES_PER_ELEMENT)
  return bytes.toString('base64')
}

/** What the model's record allows. Throws `invalidRequest` with the allowed values. */
export function checkEmbedding(model: EmbeddingModel, { dimensions, input }: EmbeddingRequest): void {
  if (dimensions !== undefined && dimensions !== model.dimensions) {
    if (!model.hasDimensions) {
      throw fieldError(['dimensions'], `${model.id} always gives ${model.dimensions} dimensions; leave it out`)
    }
    if (dimensions > model.dimensions) {
      throw fieldError(['dimensions'], `${model.id} gives ${model.dimensions} dimensions at most`)
    }
  }
  // Real counting, which costs time, is only done where the bytes would be too many tokens.
  const counter = new TokenCounter()
  for (const [index, part] of partsOf(input).entries()) {
    if (mostTokensOf(part) <= model.maximumInputTokens || tokensOf(part, counter) <= model.maximumInputTokens) continue
    const path = typeof input === 'string' || part === input ? ['input'] : ['input', index]
    throw fieldError(path, `is longer than the ${model.maximumInputTokens} tokens that ${model.id} takes; shorten it`)
  }
}
