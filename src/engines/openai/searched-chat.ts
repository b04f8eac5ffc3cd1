import { fieldError } from '#contract/errors/issues.ts'
import type { ChatCompletionRequest, ChatMessage } from '#contract/operations/chat.ts'
import { isObject } from '#contract/wire/json.ts'
import { askedTokens, type ChatCall } from '../ports/engine.ts'
import { plainInstructions } from './instructions.ts'

/**
 * A chat with the model's own search, sent as a request to xAI's Responses and converted back: xAI's chat completions
 * have answered 410 to any search since January 2026.
 */

/** Published members that change an answer but do not exist in Responses. */
const refused = [
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'max_temp',
  'min_temp',
  'min_p',
  'top_k',
  'seed',
  'logprobs',
  'top_logprobs',
  'stop',
  'stop_token_ids',
  'verbosity',
  'text',
] as const

const taken = ['temperature', 'top_p', 'parallel_tool_calls', 'prompt_cache_key', 'include'] as const

/** Throws `invalidRequest` for what Responses do not support. */
export function searchedRequest({ request, engineModel, maxCompletionTokens }: ChatCall, stream: boolean) {
  if ((request.n ?? 1) > 1)
    throw fieldError(['n'], 'With enable_x_search only one answer is possible; allowed values: 1')
  for (const name of refused) {
    if (!isNothing(request[name])) {
      throw fieldError([name], 'This model accepts it only without enable_x_search; leave one of them out')
    }
  }
  const effort = request.reasoning_effort ?? request.reasoning?.effort
  const summary = request.reasoning?.summary
  const reasoning = { ...(effort ? { effort } : {}), ...(summary ? { summary } : {}) }
  const functions = (request.tools ?? []).flatMap(tool =>
    'function' in tool && isObject(tool.function) ? [{ type: 'function', ...tool.function }] : [],
  )
  return {
    ...Object.fromEntries(taken.flatMap(name => (isAbsent(request[name]) ? [] : [[name, request[name]]]))),
    ...(Object.keys(reasoning).length ? { reasoning } : {}),
    ...choiceOf(request.tool_choice),
    ...formatOf(request.response_format),
    model: engineModel,
    input: plainInstructions(request.messages).flatMap(itemsOf),
    max_output_tokens: Math.min(maxCompletionTokens, askedTokens(request) ?? maxCompletionTokens),
    tools: [{ type: 'web_search' }, { type: 'x_search' }, ...functions],
    store: false,
    stream,
  }
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

const isNothing = (value: unknown): boolean =>
  isAbsent(value) || value === false || value === 0 || (Array.isArray(value) && !value.length)

function choiceOf(choice: ChatCompletionRequest['tool_choice']) {
  if (!choice) return {}
  if (typeof choice === 'string' || !choice.function) return { tool_choice: choice }
  return { tool_choice: { type: 'function', name: choice.function.name } }
}

/** The schema is beside its name here, and one level deeper in a chat. */
function formatOf(format: ChatCompletionRequest['response_format']) {
  if (!format) return {}
  if (format.type !== 'json_schema') return { text: { format } }
  return { text: { format: { ...format.json_schema, type: format.type } } }
}

function itemsOf(message: ChatMessage): object[] {
  if (message.role === 'tool') {
    return [{ type: 'function_call_output', call_id: message.tool_call_id, output: message.content }]
  }
  const { role, content } = message
  const parts = typeof content === 'string' ? content : (content ?? []).map(part => partOf(part, role))
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
  return [
    ...(parts.length ? [{ role, content: parts }] : []),
    ...calls.map(({ id, function: called }) => ({ type: 'function_call', call_id: id ?? '', ...called })),
  ]
}

function partOf(part: Exclude<NonNullable<ChatMessage['content']>, string>[number], role: string): object {
  if (part.type === 'text') return { type: role === 'assistant' ? 'output_text' : 'input_text', text: part.text }
  if (part.type === 'image_url') {
    const { url, detail } = part.image_url
    return { type: 'input_image', image_url: url, ...(detail ? { detail } : {}) }
  }
  throw fieldError(['messages'], `With enable_x_search this model accepts only text and images, not ${part.type}`)
}

/** Converts a response to a chat's answer, with its sources in `citations`; null if it is invalid. */
export function searchedCompletion(value: Record<string, unknown>): Record<string, unknown> | null {
  if (!Array.isArray(value.output)) return null
  const items = value.output.filter(isObject)
  const content = partsOf(items, 'message', 'content')
  const thoughts = partsOf(items, 'reasoning', 'summary')
  const calls = items.filter(({ type }) => type === 'function_call').map(callOf)
  const message = {
    role: 'assistant',
    content: joined(content),
    ...(thoughts.length ? { reasoning_content: joined(thoughts) } : {}),
    ...(calls.length ? { tool_calls: calls } : {}),
  }
  const annotations = content.flatMap(part => (Array.isArray(part.annotations) ? part.annotations : []))
  return {
    id: value.id,
    created: value.created_at,
    model: value.model,
    choices: [{ index: 0, finish_reason: finishOf(value, calls.length > 0), message }],
    citations: [...new Set([...(Array.isArray(value.citations) ? value.citations : []), ...addressesOf(annotations)])],
    usage: usageOf(value.usage),
  }
}

const partsOf = (items: readonly Record<string, unknown>[], kind: string, member: string) =>
  items.flatMap(item => (item.type === kind && Array.isArray(item[member]) ? item[member].filter(isObject) : []))

const joined = (parts: readonly Record<string, unknown>[]): string =>
  parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')

const addressesOf = (annotations: readonly unknown[]): string[] =>
  annotations.flatMap(each => (isObject(each) && typeof each.url === 'string' ? [each.url] : []))

const callOf = ({ call_id: id, name, arguments: written }: Record<string, unknown>) => ({
  id,
  type: 'function',
  function: { name, arguments: written },
})

function finishOf({ status, incomplete_details: details }: Record<string, unknown>, hasCalls: boolean): string {
  if (status === 'incomplete') {
    return isObject(details) && details.reason === 'content_filter' ? 'content_filter' : 'length'
  }
  return hasCalls ? 'tool_calls' : 'stop'
}

function usageOf(usage: unknown) {
  if (!isObject(usage)) return undefined
  const { input_tokens: prompt, output_tokens: completion, total_tokens: total, ...more } = usage
  const { input_tokens_details: read, output_tokens_details: written, ...counts } = more
  return {
    ...counts,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total ?? Number(prompt) + Number(completion),
    ...(isObject(read) ? { prompt_tokens_details: read } : {}),
    ...(isObject(written) ? { completion_tokens_details: written } : {}),
  }
}

/** Converts the events of a response to a chat's: usage and sources come with the last. */
export class SearchedEvents {
  #head: Record<string, unknown> = {}
  #calls = 0

  /** Returns the chunks of an event, or one with an `error`; none for events that a chat does not have. */
  read(event: Record<string, unknown>): Record<string, unknown>[] {
    const { type, delta, item, response } = event
    if (type === 'error') return [{ error: isObject(event.error) ? event.error : event }]
    if (type === 'response.failed') return [{ error: (isObject(response) && response.error) || {} }]
    if (type === 'response.created' && isObject(response)) {
      const { id, created_at: created, model } = response
      this.#head = { id, created, model }
      return [this.#chunk({ role: 'assistant' })]
    }
    if (type === 'response.output_text.delta') return [this.#chunk({ content: delta })]
    if (type === 'response.reasoning_summary_text.delta') return [this.#chunk({ reasoning_content: delta })]
    if (type === 'response.output_item.done' && isObject(item) && item.type === 'function_call') {
      return [this.#chunk({ tool_calls: [{ index: this.#calls++, ...callOf(item) }] })]
    }
    if (type === 'response.completed' || type === 'response.incomplete') return this.#end(response)
    return []
  }

  #end(response: unknown): Record<string, unknown>[] {
    const whole = isObject(response) ? searchedCompletion(response) : null
    if (!isObject(response) || !whole) return []
    const finish = { index: 0, delta: {}, finish_reason: finishOf(response, this.#calls > 0) }
    const { citations, usage } = whole
    return [
      { ...this.#head, choices: [finish] },
      { ...this.#head, choices: [], citations, usage },
    ]
  }

  #chunk(delta: object): Record<string, unknown> {
    return { ...this.#head, choices: [{ index: 0, delta, finish_reason: null }] }
  }
}
