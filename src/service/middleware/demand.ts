import type { ChatCompletionRequest } from '#contract/chat.ts'
import type { EmbeddingRequest } from '#contract/embeddings.ts'
import type { Operation } from '#contract/operation.ts'
import { createResponse, type ResponsesRequest } from '#contract/responses.ts'
import { parseModelSuffix } from '#contract/service-parameters.ts'
import type { VideoQueueRequest } from '#contract/video.ts'
import { pictureModelOf } from '../images/picture-model-of.ts'
import type { Demand, Service } from '../service.ts'
import { askedTokens } from '../tokens/asked-tokens.ts'

/** What English costs on average; the reservation is corrected by the real count. */
const bytesPerToken = 4

/** Reserved for an answer whose length the caller leaves open. */
const openAnswerTokens = 1_000

/** What a request asks of the limiter. Throws `modelNotFound`: a limit belongs to a model. */
export function demandOf(operation: Operation, body: unknown, service: Service): Demand {
  if (operation.limit === 'text') {
    const { model: name } = body as { model: string }
    const model = service.catalogue.text(parseModelSuffix(name).model)
    const { prompt, asked, answers } = sizesOf(operation, body)
    const promptTokens = Math.ceil(JSON.stringify(prompt).length / bytesPerToken)
    const answerTokens = Math.min(asked ?? openAnswerTokens, model.maximumCompletionTokens) * answers
    return { operation, model, tokens: promptTokens + answerTokens }
  }
  if (operation.limit === 'video.queue') {
    return { operation, model: service.catalogue.video((body as VideoQueueRequest).model), tokens: 0 }
  }
  if (operation.limit === 'embedding') {
    return { operation, model: service.catalogue.embedding((body as EmbeddingRequest).model), tokens: 0 }
  }
  if (operation.limit === 'image') {
    return { operation, model: pictureModelOf(operation, body as { model: string }, service.catalogue), tokens: 0 }
  }
  if (operation.limit === 'audio.queue') {
    return { operation, model: service.catalogue.music((body as { model: string }).model), tokens: 0 }
  }
  if (operation.limit === 'audio') {
    const { model: name } = body as { model: string }
    const { catalogue } = service
    const model = operation.id === 'createTranscription' ? catalogue.transcription(name) : catalogue.speech(name)
    return { operation, model, tokens: 0 }
  }
  return { operation, model: null, tokens: 0 }
}

/** What decides over the tokens of a request, under the names of its operation. */
function sizesOf(operation: Operation, body: unknown) {
  if (operation.id === createResponse.id) {
    const { input, max_output_tokens: asked } = body as ResponsesRequest
    return { prompt: input, asked: asked ?? undefined, answers: 1 }
  }
  const request = body as ChatCompletionRequest
  return { prompt: request.messages, asked: askedTokens(request), answers: request.n ?? 1 }
}
