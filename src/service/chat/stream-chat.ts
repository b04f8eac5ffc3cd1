import type { ChatCompletionChunk } from '#contract/chat.ts'
import type { TokenUsage } from '#contract/chat-completion.ts'
import { balanceRemaining } from '#contract/headers.ts'
import { toUsdNumber } from '#contract/money.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { Call, EventsReply } from '../call.ts'
import type { Charge } from '../ledger/charge.ts'
import { streamWithCharge } from '../ledger/charges.ts'
import type { Service } from '../service.ts'
import { type ChatPlan, engineCall } from './chat-plan.ts'
import { billedLines, countedUsage } from './chat-usage.ts'
import { ThinkingStripper } from './strip-thinking.ts'

/**
 * A streamed answer. What was delivered to us is what is owed: nothing before the first piece of content, then prompt
 * and completion by the engine's count, or by ours where the stream ends without one.
 */
export async function streamChat(call: Call, plan: ChatPlan, service: Service): Promise<EventsReply> {
  const tab = new ChatTab(plan)
  const { charge, events } = await streamWithCharge(service.charges, plan.order, (open, owed) => {
    owed.set(() => tab.lines())
    return chatEvents(call, plan, tab, open)
  })
  if (call.principal?.kind === 'wallet' && charge.heldAvailableMicroUsd !== null) {
    call.set(balanceRemaining, charge.heldAvailableMicroUsd)
  }
  const first = await startOf(events)
  return { kind: 'events', events: first }
}

/** Waits for the first event, so that an engine that fails before it is answered with a status and not inside a stream. */
async function startOf(events: AsyncIterableIterator<unknown>): Promise<AsyncIterableIterator<unknown>> {
  let first: IteratorResult<unknown> | null = await events.next()
  const whole: AsyncIterableIterator<unknown> = {
    async next() {
      const step = first ?? (await events.next())
      first = null
      return step
    },
    async return() {
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => whole,
  }
  return whole
}

async function* chatEvents(call: Call, plan: ChatPlan, tab: ChatTab, charge: Charge): AsyncGenerator<unknown> {
  const { echo } = plan.options
  const strippers = echo.strip_thinking_response || echo.disable_thinking ? new Map<number, ThinkingStripper>() : null
  let last: ChatCompletionChunk | null = null
  try {
    for await (const chunk of plan.model.engine.stream(engineCall(plan, call.signal))) {
      tab.read(chunk)
      last = chunk
      if (!chunk.choices.length) continue
      yield publicChunk(plan, strippers ? strippedChunk(chunk, strippers) : chunk)
    }
  } catch (error) {
    if (!tab.delivered || call.signal.aborted) throw error
    // The status has left already; a client reads the failure from the stream (published contract §5.3).
    yield { error: streamError(error) }
    return
  }
  const charged = await charge.capture(tab.lines())
  call.tokensUsed(tab.usage().total_tokens)
  if (last && plan.request.stream_options?.include_usage) {
    yield {
      ...publicChunk(plan, last),
      choices: [],
      usage: tab.usage(),
      cost: { usd: toUsdNumber(charged.chargedMicroUsd), diem: 0 },
      service_parameters: echo,
    }
  }
}

function publicChunk(plan: ChatPlan, chunk: ChatCompletionChunk): ChatCompletionChunk {
  const { usage: _usage, ...rest } = chunk
  return { ...rest, model: plan.model.id }
}

function strippedChunk(chunk: ChatCompletionChunk, strippers: Map<number, ThinkingStripper>): ChatCompletionChunk {
  const choices = chunk.choices.map(choice => {
    const stripper = strippers.get(choice.index) ?? new ThinkingStripper()
    strippers.set(choice.index, stripper)
    const shown = choice.delta.content ? stripper.push(choice.delta.content) : ''
    const content = choice.finish_reason ? shown + stripper.end() : shown
    return choice.delta.content || content ? { ...choice, delta: { ...choice.delta, content } } : choice
  })
  return { ...chunk, choices }
}

function streamError(error: unknown): unknown {
  const body = error instanceof ServiceError ? error.body : null
  if (typeof body === 'object' && body !== null && 'error' in body) {
    const { error: message } = body
    return { message, type: 'server_error', param: null, code: null }
  }
  return { message: 'Inference processing failed', type: 'server_error', param: null, code: null }
}

/** Counts what the engine has delivered. */
class ChatTab {
  readonly #plan: ChatPlan
  #text = ''
  #reported: TokenUsage | null = null
  delivered = false

  constructor(plan: ChatPlan) {
    this.#plan = plan
  }

  read(chunk: ChatCompletionChunk): void {
    if (chunk.usage) this.#reported = chunk.usage
    for (const { delta } of chunk.choices) {
      const calls = delta.tool_calls?.length ? JSON.stringify(delta.tool_calls) : ''
      const piece = `${delta.reasoning_content ?? ''}${delta.content ?? ''}${calls}`
      if (!piece) continue
      this.delivered = true
      this.#text += piece
    }
  }

  usage(): TokenUsage {
    return this.#reported ?? countedUsage(this.#plan.request, this.#text)
  }

  lines() {
    return this.delivered || this.#reported ? billedLines(this.#plan, this.usage()) : []
  }
}
