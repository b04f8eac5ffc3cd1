import type { ChatCompletionRequest } from '#contract/chat.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { Call } from '../call.ts'
import { principalOf } from '../call.ts'
import type { ChatCall } from '../engines/engine.ts'
import { balanceOf } from '../ledger/accounts.ts'
import type { ChargeOrder } from '../ledger/charge.ts'
import { InsufficientCredit } from '../ledger/charge.ts'
import { checkChat } from '../models/check-chat.ts'
import type { TextModel } from '../models/model.ts'
import { estimateChat } from '../pricing/price-chat.ts'
import type { Service } from '../service.ts'
import { type ChatOptions, chatOptions } from './chat-options.ts'
import { engineRequest } from './engine-request.ts'

/** All that is decided before an engine is asked. */
export interface ChatPlan {
  model: TextModel
  options: ChatOptions
  request: ChatCompletionRequest
  order: ChargeOrder
  maxCompletionTokens: number
}

export async function planChat(call: Call, body: ChatCompletionRequest, service: Service): Promise<ChatPlan> {
  const options = chatOptions(body)
  const model = service.catalogue.text(options.model)
  const request = engineRequest(body, { ...options, model: model.id }, service.settings.systemPrompt)
  checkChat(model, body)
  const { account } = principalOf(call)
  const { availableMicroUsd } = await balanceOf(service.store, account)
  const estimate = estimateChat(model, request, availableMicroUsd)
  if ('needed' in estimate) throw new InsufficientCredit(estimate.needed)
  return {
    model,
    options,
    request,
    maxCompletionTokens: estimate.maxCompletionTokens,
    order: orderOf(call, account, model, estimate.hold),
  }
}

const orderOf = (call: Call, account: string, model: TextModel, hold: MicroUsd): ChargeOrder => ({
  request: call.requestId,
  account,
  model: model.id,
  hold,
})

export const engineCall = (plan: ChatPlan, signal: AbortSignal): ChatCall => ({
  request: plan.request,
  engineModel: plan.model.engineModel,
  maxCompletionTokens: plan.maxCompletionTokens,
  signal,
})
