import { inferenceFailed, requestTimeout } from '#contract/errors/errors.ts'
import type { ChatCompletion, TokenUsage } from '#contract/operations/chat.ts'
import type { ServiceParametersEcho } from '#contract/operations/service-parameters.ts'
import { shouldRetry } from '#contract/wire/headers.ts'
import { ownBoundOf } from '#engines/http/upstream-error.ts'
import type { SearchResult } from '#engines/ports/engine.ts'
import type { Charge } from '#ledger/charges/charge.ts'
import { type Cost, printedCost } from '#ledger/charges/charge-order.ts'
import { oneCharge, withCharge } from '#ledger/charges/charges.ts'
import { type Call, type JsonReply, json } from '../../http/route.ts'
import { tellRemaining } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { tokensOfTooLarge } from './chat-options.ts'
import { type ChatPlan, engineCall } from './chat-plan.ts'
import { limitedTokens, StreamUsage, usageLines, usageOfCompletion } from './chat-usage.ts'
import { type PreparedChat, prepareChat } from './chat-web.ts'
import { answeredBy, isRefused } from './engine-run.ts'
import { echoWith, OwnSearch, stripThinking, withDocuments, withoutReasoning } from './shown-answer.ts'

interface Completed {
  completion: ChatCompletion
  usage: TokenUsage
  prepared: PreparedChat
}

/** Converts an answer to the shape for the caller. */
type Convert = (completion: ChatCompletion) => unknown

const unchanged: Convert = completion => completion

/** Returns one whole answer: the engine's, with our model id, our options and its cost. */
export async function completeChat(
  call: Call,
  plan: ChatPlan,
  service: Service,
  convert: Convert = unchanged,
): Promise<JsonReply> {
  const { value, charged } = await withCharge(service.charges, plan.order, async charge => {
    call.goOn()
    const prepared = await prepareChat(plan, call, service)
    const completion = await completed({ call, plan, service, prepared, charge })
    const counted = await usageOfCompletion(prepared.request, completion)
    const search = plan.options.searchesX ? new OwnSearch() : null
    search?.read(completion)
    const value = { completion, usage: counted.usage, prepared: withOwnSources(prepared, search?.sources ?? []) }
    const alsoCommit = (cost: Cost) => call.keep(() => json(convert(answerOf(plan, value, cost))))
    const lines = [...usageLines(plan, counted), ...prepared.lines, ...(search?.lines() ?? [])]
    return { value, lines: oneCharge(lines), alsoCommit }
  })
  call.tokensUsed(limitedTokens(value.usage))
  tellRemaining(call, charged.availableMicroUsd)
  return json(convert(answerOf(plan, value, charged)))
}

interface Completing {
  call: Call
  plan: ChatPlan
  service: Service
  prepared: PreparedChat
  charge: Charge
}

/**
 * Gets the engine's answer. If one of our limits cuts the answer off, it is charged like a stream whose reader left; so
 * is an answer for which no caller waits when this process ends. If the engine refuses the request, the search results
 * that were found for it are charged.
 */
async function completed({ call, plan, service, prepared, charge }: Completing): Promise<ChatCompletion> {
  const { signal } = call
  const streamUsage = new StreamUsage(plan, service.clock)
  streamUsage.prepared(prepared)
  streamUsage.begin()
  // With a key, a repeat after a restart runs it again, so nothing is lost.
  charge.meter(() => (call.hasLeft() && !call.hasKey ? streamUsage.lines(true) : []))
  try {
    return await answeredBy(plan.model, { ...engineCall(plan, prepared.request), signal })
  } catch (error) {
    const bound = ownBoundOf(error)
    if (bound === 'size')
      streamUsage.madeAtLeast(Math.min(plan.maxCompletionTokens, tokensOfTooLarge(prepared.request)))
    if (bound || signal.aborted) await charge.capture(streamUsage.lines(true))
    else if (isRefused(error)) await charge.capture(oneCharge(prepared.lines))
    if (bound) throw bound === 'size' ? inferenceFailed(chargedHeaders) : requestTimeout(chargedHeaders)
    throw error
  }
}

/** OpenAI's clients retry such an error by themselves, and every attempt would be charged. */
const chargedHeaders = { [shouldRetry.name]: shouldRetry.format(false) }

const withOwnSources = (prepared: PreparedChat, own: readonly SearchResult[]): PreparedChat => ({
  ...prepared,
  echo: echoWith(prepared.echo, own),
  sources: [...prepared.sources, ...own],
})

function answerOf({ model }: ChatPlan, { completion, usage, prepared }: Completed, cost: Cost): ChatCompletion {
  const { echo, sources } = prepared
  const shown = completion.choices.map(choice => stripped(choice, echo))
  const hasDocuments = echo.return_search_results_as_documents && sources.length > 0
  return {
    ...completion,
    model: model.id,
    choices: hasDocuments ? shown.map(choice => withDocuments(choice, sources)) : shown,
    usage,
    cost: printedCost(cost),
    service_parameters: echo,
  }
}

type Choice = ChatCompletion['choices'][number]

function stripped(choice: Choice, echo: ServiceParametersEcho): Choice {
  if (!echo.strip_thinking_response && !echo.disable_thinking) return choice
  const message = echo.disable_thinking ? withoutReasoning(choice.message) : choice.message
  const { content } = message
  const answer = typeof content === 'string' ? stripThinking(content) : content
  if (answer === content && message === choice.message) return choice
  // Log probabilities would reveal the tokens that were removed.
  return { ...choice, message: { ...message, content: answer }, logprobs: null }
}
