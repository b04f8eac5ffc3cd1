import type { ChatCompletionRequest } from '#contract/chat.ts'
import { type Call, principalOf } from '../call.ts'
import type { ChatCall } from '../engines/engine.ts'
import type { ChargeOrder } from '../ledger/charge.ts'
import { shortage, totalOf } from '../ledger/funding.ts'
import { checkChat } from '../models/check-chat.ts'
import type { TextModel } from '../models/model.ts'
import { type Affordable, estimateChat, mostWithMedia } from '../pricing/price-chat.ts'
import type { Service } from '../service.ts'
import { type ChatOptions, chatOptions } from './chat-options.ts'
import { engineRequest } from './engine-request.ts'

/** All that is decided before an engine is asked. */
export interface ChatPlan {
  model: TextModel
  options: ChatOptions
  request: ChatCompletionRequest
  order: ChargeOrder
  maxPromptTokens: number
  /** What the engine is told: all choices together. */
  maxCompletionTokens: number
}

/** Throws what is wrong with the request, and what is missing to pay for it. */
export async function planChat(call: Call, body: ChatCompletionRequest, service: Service): Promise<ChatPlan> {
  const options = chatOptions(body)
  const model = service.catalogue.text(options.model)
  const request = engineRequest(body, { ...options, model: model.id }, service.settings.systemPrompt)
  checkChat(model, body)
  const spendable = await call.spendable()
  const estimate = estimateChat(model, request, totalOf(spendable))
  if ('needed' in estimate) throw shortage(spendable, estimate.needed)
  return { model, options, request, ...limitsOf(estimate, call, { model, request }) }
}

/**
 * A stream is seen while it grows, so it may go as far as the credit does and extend its hold on the way; a whole answer
 * comes at once, and its hold has to cover it from the beginning, but for media, which nobody can measure beforehand.
 */
function limitsOf(estimate: Affordable, call: Call, { model, request }: Pick<ChatPlan, 'model' | 'request'>) {
  const reach = request.stream ? estimate.most : estimate
  const order: ChargeOrder = {
    request: call.requestId,
    holdId: call.holdId,
    principal: principalOf(call),
    model: model.id,
    amount: estimate.hold,
    most: mostWithMedia(model, request, reach),
  }
  return { order, maxPromptTokens: estimate.maxPromptTokens, maxCompletionTokens: reach.maxCompletionTokens }
}

export const engineCall = (plan: ChatPlan): Omit<ChatCall, 'signal'> => ({
  request: plan.request,
  engineModel: plan.model.engineModel,
  maxCompletionTokens: plan.maxCompletionTokens,
})
