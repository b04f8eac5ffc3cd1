import type { ChatCompletion, TokenUsage } from '#contract/operations/chat.ts'
import type { OutputItem, ResponsesAnswer } from '#contract/operations/responses.ts'
import type { ServiceParametersEcho } from '#contract/operations/service-parameters.ts'

export type Sources = NonNullable<ServiceParametersEcho['web_search_citations']>

/** Where a text cites which source, by the marks that the model was asked for (brief §2.8). */
const citationsIn = (text: string, sources: Sources) =>
  [...text.matchAll(/\[REF\](\d{1,3})\[\/REF\]/g)].flatMap(({ 0: mark, 1: number, index }) => {
    const source = sources[Number(number)]
    if (!source) return []
    const { url, title } = source
    return [{ type: 'url_citation' as const, url, title, start_index: index, end_index: index + mark.length }]
  })

/** A whole answer of a chat as a response. */
export function responseOf(completion: ChatCompletion): ResponsesAnswer {
  const { id, created, model, usage, cost, service_parameters: echo } = completion
  const [choice] = completion.choices
  const sources = echo?.web_search_citations ?? []
  const drafts = [...(sources.length ? [searchItem('')] : []), ...(choice ? draftsOf(choice.message, sources) : [])]
  return {
    id: responseId(id),
    object: 'response',
    created_at: created,
    model,
    status: 'completed',
    // The answer is told twice where a key keeps it, and has to be the same.
    output: drafts.map((item, index) => ({ ...item, id: itemId(item.type, id, index) })),
    ...(usage ? { usage: usageOf(usage) } : {}),
    ...(choice?.finish_reason === 'length' ? { incomplete_details: { reason: 'max_output_tokens' as const } } : {}),
    ...(cost ? { cost } : {}),
  }
}

type Message = ChatCompletion['choices'][number]['message']

/** Items without their ids. */
function draftsOf(message: Message, sources: Sources): OutputItem[] {
  const reasoning = reasoningOf(message)
  const text = textOf(message.content)
  const calls = message.tool_calls ?? []
  return [
    ...(reasoning ? [reasoningItem(reasoning, '')] : []),
    // An answer without anything is still an answer.
    ...(text || !calls.length ? [messageItem(text, sources, '')] : []),
    ...calls.map(({ id, function: called }, index) =>
      callItem({ callId: id ?? `call_${index}`, name: called?.name ?? '', written: called?.arguments ?? '' }, ''),
    ),
  ]
}

/** Engines write it under one name or another. */
export function reasoningOf(message: { reasoning_content?: unknown; reasoning?: unknown }): string {
  const { reasoning_content: published, reasoning } = message
  if (typeof published === 'string' && published) return published
  return typeof reasoning === 'string' ? reasoning : ''
}

const textOf = (content: Message['content']): string =>
  typeof content === 'string'
    ? content
    : (content ?? []).map(part => ('text' in part && typeof part.text === 'string' ? part.text : '')).join('')

const coreOf = (chatId: string): string => chatId.replace(/^chatcmpl-/, '')

export const responseId = (chatId: string): string => `resp_${coreOf(chatId)}`

const prefixes: Readonly<Record<OutputItem['type'], string>> = {
  reasoning: 'rs',
  message: 'msg',
  function_call: 'fc',
  web_search_call: 'ws',
}

/** Of the item at that place of an answer. */
export const itemId = (type: OutputItem['type'], chatId: string, index: number): string =>
  `${prefixes[type]}_${coreOf(chatId)}_${index}`

export const searchItem = (id: string): OutputItem => ({ type: 'web_search_call', id, status: 'completed' })

export const reasoningItem = (text: string, id: string): OutputItem => ({
  type: 'reasoning',
  id,
  summary: text ? [text] : [],
})

export const messageItem = (text: string, sources: Sources, id: string): OutputItem => ({
  type: 'message',
  id,
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: citationsIn(text, sources) }],
})

export const callItem = (
  { callId, name, written }: { callId: string; name: string; written: string },
  id: string,
): OutputItem => ({ type: 'function_call', id, call_id: callId, name, arguments: written, status: 'completed' })

export const usageOf = (usage: TokenUsage): NonNullable<ResponsesAnswer['usage']> => ({
  input_tokens: usage.prompt_tokens,
  input_tokens_details: { cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0 },
  output_tokens: usage.completion_tokens,
  output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
  total_tokens: usage.total_tokens,
})
