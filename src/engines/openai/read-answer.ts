import { randomUUID } from 'node:crypto'
import { ChatCompletion, ChatCompletionChunk, TokenUsage } from '#contract/operations/chat.ts'
import { parseJson } from '#contract/wire/json.ts'
import { answerDepth } from '../bounds.ts'

/** What an engine said, as an object; null for anything else. */
export function readObject(text: string): Record<string, unknown> | null {
  const parsed = parseJson(text, answerDepth)
  return parsed.ok && isObject(parsed.value) ? parsed.value : null
}

/** A whole answer; null where it is none. */
export const readCompletion = (value: Record<string, unknown>, nowSeconds: number): ChatCompletion | null =>
  ChatCompletion.safeParse({ ...framed(value, nowSeconds), object: 'chat.completion', choices: value.choices }).data ??
  null

/** One event of an answer; null where it is none. */
export function readChunk(value: Record<string, unknown>, nowSeconds: number): ChatCompletionChunk | null {
  const choices = Array.isArray(value.choices) ? value.choices.map(choice => ({ index: 0, delta: {}, ...choice })) : []
  return (
    ChatCompletionChunk.safeParse({ ...framed(value, nowSeconds), object: 'chat.completion.chunk', choices }).data ??
    null
  )
}

/** Engines leave out what OpenAI's clients need, and use for themselves the names of what only we say. */
function framed(value: Record<string, unknown>, nowSeconds: number): Record<string, unknown> {
  const { cost: _cost, service_parameters: _parameters, usage, ...own } = value
  const counted = TokenUsage.safeParse(usage).data
  return {
    ...own,
    id: typeof own.id === 'string' && own.id !== '' ? own.id : `chatcmpl-${randomUUID()}`,
    created: Number.isSafeInteger(own.created) ? own.created : nowSeconds,
    model: typeof own.model === 'string' ? own.model : '',
    ...(counted ? { usage: counted } : {}),
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
