import { fieldError } from '#contract/errors/issues.ts'
import type { EmbeddingRequest } from '#contract/operations/embeddings.ts'
import { TokenCounter } from '#engines/tokens/count-tokens.ts'
import type { EmbeddingModel } from '../../models/model.ts'
import { mostTokensOf, partsOf, tokensOf } from './price-embedding.ts'

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
