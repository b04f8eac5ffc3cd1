import { addUsd, type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { ChatCall } from '#engines/ports/engine.ts'
import type { ChargeOrder } from '#ledger/charges/charge-order.ts'
import { shortage, totalOf } from '#ledger/charges/funding.ts'
import { type Call, principalOf } from '../../http/route.ts'
import type { Service } from '../../http/service.ts'
import type { TextModel } from '../../models/model.ts'
import { mostOfXSearch } from '../web/routes.ts'
import { checkSentMedia, fetchMedia, mediaNamedIn, sentMediaIn, withMedia } from './chat-media.ts'
import {
  type ChatOptions,
  chatOptions,
  checkAnswerSize,
  checkChat,
  checkOptions,
  engineRequest,
  tokensOfAnswer,
} from './chat-options.ts'
import { contextShare, searchContextBytes, type WebPlan, webPlan } from './chat-web.ts'
import { estimateChat, mostWithMedia } from './price-chat.ts'

/** Everything that is decided before the engine is called. */
export interface ChatPlan {
  model: TextModel
  options: ChatOptions
  /** Null if the web is not used. */
  web: WebPlan | null
  request: ChatCompletionRequest
  order: ChargeOrder
  maxPromptTokens: number
  /** The limit for the engine, over all choices. */
  maxCompletionTokens: number
}

/** Throws if something is wrong with the request, or the caller cannot pay for it. */
export async function planChat(call: Call, body: ChatCompletionRequest, service: Service): Promise<ChatPlan> {
  const options = chatOptions(body)
  const model = service.catalogue.find('text', options.model)
  checkOptions(options, model, service.web)
  const { character_slug: slug } = options.echo
  const character = slug === undefined ? '' : service.characters.named(slug).instructions
  const prompts = { service: service.settings.systemPrompt, character }
  const request = engineRequest(body, { model, options, prompts })
  checkChat(model, body)
  checkAnswerSize(model, request)
  const media = mediaNamedIn(request, model, request.messages.length - body.messages.length)
  const web = webPlan(options, model, body)
  const spendable = await call.spendable()
  const priced = (asked: ChatCompletionRequest) => limitsOf(asked, { call, model, web, options, spendable })
  const sent = sentMediaIn(body)
  // Only for callers who can pay, and before anything is held.
  if (media.length + sent.length) priced(withMedia(request, new Map(media.map(({ part }) => [part, null]))))
  const { documents, log } = service
  const { fetcher, signal } = call
  await checkSentMedia(sent, signal)
  const parts = await fetchMedia(media, { fetcher, documents, log, model, signal })
  const asked = withMedia(request, parts)
  return { model, options, web, request: asked, ...priced(asked) }
}

interface Limiting {
  call: Call
  model: TextModel
  web: WebPlan | null
  options: ChatOptions
  spendable: Awaited<ReturnType<Call['spendable']>>
}

/**
 * A stream can be watched while it grows, so it may use all available credit and extend its hold on the way. A whole
 * answer comes at once, so its hold must cover it from the start, except for media, which cannot be measured in
 * advance. Throws what is missing to pay for the minimum.
 */
function limitsOf(request: ChatCompletionRequest, { call, model, web, options, spendable }: Limiting) {
  const aside = asideOf({ web, options })
  const left = totalOf(spendable) - aside
  const estimate = estimateChat(model, request, microUsd(left > 0n ? left : 0n), contextBytesOf(model, web, options))
  if ('needed' in estimate) throw shortage(spendable, addUsd(estimate.needed, aside))
  const reach = request.stream ? estimate.most : estimate
  const order: ChargeOrder = {
    request: call.requestId,
    holdId: call.holdId,
    principal: principalOf(call),
    model: model.id,
    amount: addUsd(estimate.hold, aside),
    most: addUsd(mostWithMedia(model, request, reach, options.searchesX), aside),
  }
  return {
    order,
    maxPromptTokens: estimate.maxPromptTokens,
    maxCompletionTokens: Math.min(reach.maxCompletionTokens, tokensOfAnswer(request)),
  }
}

/** Returns the amount reserved for using the web, here or by the engine; it buys no tokens. */
export const asideOf = ({ web, options }: Pick<ChatPlan, 'web' | 'options'>): MicroUsd =>
  addUsd(web?.mostMicroUsd ?? zeroUsd, options.searchesX ? mostOfXSearch : zeroUsd)

/** Returns the bytes of found content that become part of the prompt. */
const contextBytesOf = (model: TextModel, web: WebPlan | null, { searchesX }: ChatOptions): number =>
  (web?.contextBytes ?? 0) +
  (searchesX ? Math.min(Math.floor(model.contextTokens / contextShare), searchContextBytes) : 0)

export const engineCall = (plan: ChatPlan, request: ChatCompletionRequest): Omit<ChatCall, 'signal'> => ({
  request,
  engineModel: plan.model.engineModel,
  maxCompletionTokens: plan.maxCompletionTokens,
  searchesX: plan.options.searchesX,
  isThinkingOff: plan.options.echo.disable_thinking && plan.model.capabilities.supportsReasoning,
})
