import type { Demand, Grant } from '#access/limits/guards.ts'
import type { LimitedDemand } from '#access/limits/limit-rules.ts'
import type { CountedFor } from '#contract/limits.ts'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { createResponse, type ResponsesRequest } from '#contract/operations/responses.ts'
import { parseModelSuffix } from '#contract/operations/service-parameters.ts'
import { limitRequests, modelId, modelName, modelRouter } from '#contract/wire/headers.ts'
import { isObject } from '#contract/wire/json.ts'
import { askedTokens } from '#engines/ports/engine.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { ImageInputModel, ImageModel, Model, TextModel } from '../models/model.ts'
import { tellDeprecation } from '../models/model-record.ts'
import type { Exchange } from './exchange.ts'
import type { Service } from './service.ts'

/**
 * Counts a call towards its limits, and sets the headers of its model and limits. Throws `rateLimitExceeded`,
 * `modelNotFound`.
 */
export async function takeLimits(
  { operation, body, countedFor }: { operation: Operation; body: unknown; countedFor: CountedFor | undefined },
  exchange: Exchange,
  service: Service,
): Promise<Grant> {
  const demand = demandOf(operation, body, service)
  if (demand.model) {
    exchange.set(modelId, demand.model.id)
    exchange.set(modelName, demand.model.name)
    exchange.set(modelRouter, demand.model.engineName)
    tellDeprecationOf(demand.model.type, body, exchange, service)
  }
  const grant = await service.guards.take(exchange, countedFor ? { ...demand, countedFor } : demand)
  exchange.setAll(grant.headers)
  return grant
}

/**
 * Sets the limit headers (brief §8.4) of a request that was not counted, by reading its limits; for counted requests,
 * counting sets them. A text request whose model is not known yet gets none, because the limits of another tier would
 * slow the caller down for a minute.
 */
export async function tellLimits(exchange: Exchange, { guards }: Pick<Service, 'guards'>): Promise<void> {
  const { principal, demand, signal } = exchange
  if (!demand || signal.aborted || exchange.answerHeaders.has(limitRequests.name)) return
  if (!principal && demand.operation.charge !== 'payment') return
  if (demand.isUnread && demand.operation.limit === 'text') return
  exchange.setAll(await guards.limitsOf(exchange, demand))
}

/** Tells callers that a model is deprecated, even if its replacement answers. */
function tellDeprecationOf(type: Model['type'], body: unknown, exchange: Exchange, service: Service): void {
  const name = askedModelName(type, body as { model?: unknown })
  const asked = name === null ? null : service.catalogue.asked(type, name)
  if (asked) tellDeprecation((codec, value) => exchange.set(codec, value), asked, service.clock.now())
}

function askedModelName(type: Model['type'], body: { model?: unknown; modelId?: string }): string | null {
  const { model } = body
  if (typeof model !== 'string') return null
  return type === 'inpaint' ? editModelName({ ...body, model }) : parseModelSuffix(model).model
}

/** The average for English; the reservation is corrected by the actual count. */
const bytesPerToken = 4

/** Reserved for an answer whose length the caller does not limit. */
const openAnswerTokens = 1_000

interface ModelDemand extends Demand {
  model: Model | null
}

/**
 * Returns the facts about a request that the limiter needs. Throws `modelNotFound`, because a limit belongs to a model.
 */
function demandOf(operation: Operation, body: unknown, { catalogue }: Pick<Service, 'catalogue'>): ModelDemand {
  const model = modelOf(operation, body as NamesModel, catalogue)
  return { operation, model, tokens: model?.type === 'text' ? tokensOf(operation, body, model) : 0 }
}

/**
 * Returns which limit applies to a request that is not counted, as far as its body can be read: an unknown model has
 * the limit of its type.
 */
export function readDemand(
  operation: Operation,
  body: unknown,
  { catalogue }: Pick<Service, 'catalogue'>,
): LimitedDemand {
  const { model: name, modelId } = isObject(body) ? body : {}
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

/** Returns null if the operation's limit does not depend on a model. */
function modelOf(operation: Operation, body: NamesModel, catalogue: Service['catalogue']): Model | null {
  switch (operation.limit) {
    case 'text':
      return catalogue.find('text', parseModelSuffix(body.model).model)
    case 'video.queue':
      return catalogue.find('video', body.model)
    case 'embedding':
      return catalogue.find('embedding', body.model)
    case 'image':
      return imageModelOf(operation, body, catalogue)
    case 'audio.queue':
      return catalogue.find('music', body.model)
    case 'audio':
      return catalogue.find(operation.id === 'createTranscription' ? 'asr' : 'tts', body.model)
    default:
      return null
  }
}

function tokensOf(operation: Operation, body: unknown, model: TextModel): number {
  const { prompt, asked, answers } = sizesOf(operation, body)
  const promptTokens = Math.ceil(JSON.stringify(prompt).length / bytesPerToken)
  return promptTokens + Math.min(asked ?? openAnswerTokens, model.maximumCompletionTokens) * answers
}

/** Returns the members that determine a request's tokens, under the names of its operation. */
function sizesOf(operation: Operation, body: unknown) {
  if (operation.id === createResponse.id) {
    const { input, max_output_tokens: asked } = body as ResponsesRequest
    return { prompt: input, asked: asked ?? undefined, answers: 1 }
  }
  const request = body as ChatCompletionRequest
  return { prompt: request.messages, asked: askedTokens(request), answers: request.n ?? 1 }
}

/** Returns the model name in an edit request: the older member is used if the newer is absent. */
export const editModelName = ({ model, modelId }: NamesModel): string =>
  model === 'default' && modelId !== undefined ? modelId : model

/** Returns the model whose limit an image request counts towards. Throws `modelNotFound`. */
function imageModelOf(
  { id }: Pick<Operation, 'id'>,
  body: NamesModel,
  catalogue: Catalogue,
): ImageModel | ImageInputModel {
  switch (id) {
    case 'editImage':
    case 'multiEditImage':
      return catalogue.find('inpaint', editModelName(body))
    case 'upscaleImage':
      return catalogue.find('upscale', body.model)
    case 'backgroundRemoveImage':
      return catalogue.find('background', body.model)
    default:
      return catalogue.find('image', body.model)
  }
}
