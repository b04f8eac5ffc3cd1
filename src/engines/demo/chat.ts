import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldError } from '#contract/errors/issues.ts'
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  TokenUsage,
} from '#contract/operations/chat.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { chunkPauseMs, streamPauseMs } from '../bounds.ts'
import type { ChatCall, ChatEngine } from '../engine.ts'
import { askedTokens } from '../tokens/asked-tokens.ts'
import { countPromptTokens, countTokens } from '../tokens/count-tokens.ts'
import { composeAnswer, composeThinking } from './compose-answer.ts'
import { type Finished, finishText } from './finish-text.ts'

export interface DemoChatOptions {
  clock?: Clock
  /** Waits between two chunks; rejects when the signal aborts. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

const realPause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal })

/** Answers from the request itself, and behaves as an engine should: tokens, stop, choices, streams, abort. */
export class DemoChat implements ChatEngine {
  readonly #clock: Clock
  readonly #pause: (ms: number, signal: AbortSignal) => Promise<void>

  constructor({ clock = systemClock, pause = realPause }: DemoChatOptions = {}) {
    this.#clock = clock
    this.#pause = pause
  }

  async complete(call: ChatCall): Promise<ChatCompletion> {
    call.signal.throwIfAborted()
    const choices = answers(call)
    return {
      ...this.#head(call),
      object: 'chat.completion',
      choices: choices.map((choice, index) => ({
        index,
        finish_reason: choice.reason,
        stop_reason: choice.stopped,
        logprobs: null,
        message: { role: 'assistant', content: choice.pieces.join('') },
      })),
      usage: usageOf(call.request, choices),
    }
  }

  async *stream(call: ChatCall): AsyncGenerator<ChatCompletionChunk> {
    call.signal.throwIfAborted()
    const choices = answers(call)
    const head: Pick<ChatCompletionChunk, 'id' | 'created' | 'model' | 'object'> = {
      ...this.#head(call),
      object: 'chat.completion.chunk',
    }
    const pauseMs = Math.min(chunkPauseMs, streamPauseMs / Math.max(1, sum(choices.map(({ pieces }) => pieces.length))))
    for (const [index, { pieces, reason }] of choices.entries()) {
      yield { ...head, choices: [{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }] }
      for (const content of pieces) {
        await this.#pause(pauseMs, call.signal)
        yield { ...head, choices: [{ index, delta: { content }, finish_reason: null }] }
      }
      call.signal.throwIfAborted()
      yield { ...head, choices: [{ index, delta: {}, finish_reason: reason }] }
    }
    yield { ...head, choices: [], usage: usageOf(call.request, choices) }
  }

  #head({ engineModel }: ChatCall) {
    return {
      id: `chatcmpl-${randomUUID()}`,
      created: Math.floor(this.#clock.now() / 1000),
      model: engineModel,
    }
  }
}

function answers({ request, maxCompletionTokens }: ChatCall): Finished[] {
  if (request.response_format?.type === 'json_schema') {
    throw fieldError(['response_format', 'type'], 'demo-chat follows no schema; allowed values: text, json_object')
  }
  const count = request.n ?? 1
  const most = Math.min(Math.floor(maxCompletionTokens / count), askedTokens(request) ?? Number.POSITIVE_INFINITY)
  const thinking = isThinkingAsked(request) ? composeThinking(request) : ''
  const stops = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? [])
  return Array.from({ length: count }, (_, index) => finishText(thinking + composeAnswer(request, index), most, stops))
}

function isThinkingAsked({ reasoning_effort: effort, reasoning, service_parameters: own }: ChatCompletionRequest) {
  const asked = effort ?? reasoning?.effort ?? 'none'
  return asked !== 'none' && own?.disable_thinking !== true
}

function usageOf(request: ChatCompletionRequest, choices: readonly Finished[]): TokenUsage {
  const prompt = countPromptTokens(request)
  const completion = sum(choices.map(({ tokens }) => tokens))
  const thought = sum(choices.map(choice => thinkingTokens(choice)))
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(thought ? { completion_tokens_details: { reasoning_tokens: Math.min(thought, completion) } } : {}),
  }
}

function thinkingTokens({ pieces }: Finished): number {
  const text = pieces.join('')
  if (!text.startsWith('<think>')) return 0
  const end = text.indexOf('</think>')
  return countTokens(end < 0 ? text : text.slice(0, end + '</think>'.length))
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)
