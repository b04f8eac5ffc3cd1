import { createEmbedding } from '#contract/operations/embeddings.ts'
import { onceLoaded } from '#host/packages.ts'
import { route } from '../../http/route.ts'

/** Loaded with the first request, because the tokenizer comes along. */
const embeddings = onceLoaded(() => import('./answer-embedding.ts'))

export const createEmbeddingRoute = route(createEmbedding, async (call, service) => {
  const { answerEmbedding } = await embeddings()
  return answerEmbedding(call, call.body, service)
})
