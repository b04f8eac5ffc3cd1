import { createEmbedding } from '#contract/embeddings.ts'
import { onceLoaded } from '../once-loaded.ts'
import { route } from '../route.ts'

/** Loaded with the first request, because the tokenizer comes along. */
const embeddings = onceLoaded(() => import('../embeddings/answer-embedding.ts'))

export const createEmbeddingRoute = route(createEmbedding, async (call, service) => {
  const { answerEmbedding } = await embeddings()
  return answerEmbedding(call, call.body, service)
})
