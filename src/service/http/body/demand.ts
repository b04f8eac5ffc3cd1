import type { Demand } from '#access/limits/guards.ts'
import type { LimitedDemand } from '#access/limits/limit-rules.ts'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { createResponse, type ResponsesRequest } from '#contract/operations/responses.ts'
import { parseModelSuffix } from '#contract/operations/service-parameters.ts'
import { askedTokens } from '#engines/tokens/asked-tokens.ts'
import { pictureModelOf } from '../../models/image-model-of.ts'
import type { Model, TextModel } from '../../models/model.ts'
import type { Service } from '../service.ts'

/** What English costs on average; the reservation is corrected by the real count. */
const bytesPerToken = 4

/** Reserved for an answer whose length the caller leaves open. */
const openAnswerTokens = 1_000

interface ModelDemand extends Demand {
  model: Model | null
}

/** What a request asks of the limiter. Throws `modelNotFound`: a limit belongs to a model. */
export function demandOf(operation: Operation, body: unknown, { catalogue }: Pick<Service, 'catalogue'>): ModelDemand {
  const model = modelOf(operation, body as NamesModel, catalogue)
  return { operation, model, tokens: model?.type === 'text' ? tokensOf(operation, body, model) : 0 }
}

/** The same of a request that is not counted, as far as its body can be read: an unknown model has the limit of its type. */
export function readDemand(
  operation: Operation,
  body: unknown,
  { catalogue }: Pick<Service, 'catalogue'>,
): LimitedDemand {
  const { model: name, modelId } = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  if (typeof name !== 'string') return { operation, model: null }
  const named = { model: name, ...(typeof modelId === 'string' ? { modelId } : {}) }
  try {
    return { operation, model: modelOf(operation, named, catalogue) }
  } catch {
    return { operation, model: null }
  }
}

interface NamesModel {
  model: string
  modelId?: string
}

/** Null where the limit of the operation belongs to no model. */
function modelOf(operation: Operation, body: NamesModel, catalogue: Service['catalogue']): Model | null {
  switch (operation.limit) {
    case 'text':
      return catalogue.text(parseModelSuffix(body.model).model)
    case 'video.queue':
      return catalogue.video(body.model)
    case 'embedding':
      return catalogue.embedding(body.model)
    case 'image':
      return pictureModelOf(operation, body, catalogue)
    case 'audio.queue':
      return catalogue.music(body.model)
    case 'audio':
      return operation.id === 'createTranscription' ? catalogue.transcription(body.model) : catalogue.speech(body.model)
    default:
      return null
  }
}

function tokensOf(operation: Operation, body: unknown, model: TextModel): number {
  const { prompt, asked, answers } = sizesOf(operation, body)
  const promptTokens = Math.ceil(JSON.stringify(prompt).length / bytesPerToken)
  return promptTokens + Math.min(asked ?? openAnswerTokens, model.maximumCompletionTokens) * answers
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
