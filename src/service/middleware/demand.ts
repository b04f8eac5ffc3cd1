import type { ChatCompletionRequest } from '#contract/chat.ts'
import type { EmbeddingRequest } from '#contract/embeddings.ts'
import type { Operation } from '#contract/operation.ts'
import { parseModelSuffix } from '#contract/service-parameters.ts'
import type { VideoQueueRequest } from '#contract/video.ts'
import { pictureModelOf } from '../images/picture-model-of.ts'
import { askedTokens } from '../pricing/asked-tokens.ts'
import type { Demand, Service } from '../service.ts'

/** What English costs on average; the reservation is corrected by the real count. */
const bytesPerToken = 4

/** Reserved for an answer whose length the caller leaves open. */
const openAnswerTokens = 1_000

/** What a request asks of the limiter. Throws `modelNotFound`: a limit belongs to a model. */
export function demandOf(operation: Operation, body: unknown, service: Service): Demand {
  if (operation.limit === 'text') {
    const request = body as ChatCompletionRequest
    const model = service.catalogue.text(parseModelSuffix(request.model).model)
    const promptTokens = Math.ceil(JSON.stringify(request.messages).length / bytesPerToken)
    const asked = Math.min(askedTokens(request) ?? openAnswerTokens, model.maximumCompletionTokens)
    const answerTokens = asked * (request.n ?? 1)
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
  if (operation.limit === 'audio') {
    const { model: name } = body as { model: string }
    const { catalogue } = service
    const model = operation.id === 'createTranscription' ? catalogue.transcription(name) : catalogue.speech(name)
    return { operation, model, tokens: 0 }
  }
  return { operation, model: null, tokens: 0 }
}
