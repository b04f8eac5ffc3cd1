import type { ChatCompletion, ChatCompletionChunk, TokenUsage } from '#contract/operations/chat.ts'
import type { OutputItem, ResponsesAnswer, ResponsesEvent } from '#contract/operations/responses.ts'
import type { ServiceParametersEcho } from '#contract/operations/service-parameters.ts'

/** An event of a chat's stream: a piece of the answer, or why it ends early. */
export type ChatEvent = Partial<ChatCompletionChunk> & { error?: { message: string; code: string | null } }

type Delta = ChatCompletionChunk['choices'][number]['delta']

/** Converts a chat's stream to the events of a response. */
export class ResponseEvents {
  readonly #items: OpenItem[] = []
  /** The model's calls, by index. */
  readonly #calls = new Map<number, OpenItem>()
  #open: OpenItem | null = null
  #head: Pick<ResponsesAnswer, 'id' | 'created_at' | 'model'> | null = null
  #chatId = ''
  #sources: Sources = []
  #endsAtLimit = false
  #number = 0

  /** Returns the events for a piece of the answer, in order. */
  push(event: ChatEvent): ResponsesEvent[] {
    const bodies = [...this.#begin(event), ...this.#search(event)]
    for (const { index, delta, finish_reason: reason } of event.choices ?? []) {
      // Only one answer, because a request cannot ask for several.
      if (index !== 0) continue
      bodies.push(...this.#grow(delta))
      if (reason === 'length') this.#endsAtLimit = true
    }
    const events = this.#numbered(bodies)
    this.#number += events.length
    return events
  }

  /** Returns the last events, with usage or error. Has no side effects, so that it can be called again. */
  end({ usage, cost, error }: ChatEvent): ResponsesEvent[] {
    const closing = this.#items.filter(item => !this.#isClosed(item)).flatMap(item => item.closed(this.#sources))
    const output = this.#items.map(item => item.whole(this.#sources))
    const incomplete = this.#endsAtLimit ? { incomplete_details: { reason: 'max_output_tokens' as const } } : {}
    const facts = { ...(usage ? { usage: usageOf(usage) } : {}), ...(cost ? { cost } : {}), ...incomplete }
    if (!error) {
      const type = this.#endsAtLimit ? 'response.incomplete' : 'response.completed'
      return this.#numbered([...closing, { type, response: this.#response('completed', { output, ...facts }) }])
    }
    const failure = { code: error.code ?? 'server_error', message: error.message }
    return this.#numbered([
      ...closing,
      { type: 'response.failed', response: this.#response('failed', { output, ...facts, error: failure }) },
    ])
  }

  #begin({ id = '', created = 0, model = '' }: ChatEvent): EventBody[] {
    if (this.#head) return []
    this.#chatId = id
    this.#head = { id: responseId(id), created_at: created, model }
    const response = this.#response('in_progress', { output: [] })
    return [
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]
  }

  #search({ service_parameters: echo }: ChatEvent): EventBody[] {
    if (!echo?.web_search_citations) return []
    this.#sources = echo.web_search_citations
    return this.#next('web_search_call')
  }

  #grow(delta: Delta): EventBody[] {
    const reasoning = reasoningOf(delta)
    const bodies = reasoning ? this.#piece('reasoning', reasoning) : []
    if (delta.content) bodies.push(...this.#piece('message', delta.content))
    for (const call of delta.tool_calls ?? []) bodies.push(...this.#call(call))
    return bodies
  }

  #piece(kind: 'reasoning' | 'message', text: string): EventBody[] {
    const opening = this.#open?.kind === kind ? [] : this.#next(kind)
    return [...opening, ...(this.#open?.grown(text) ?? [])]
  }

  #call(call: NonNullable<Delta['tool_calls']>[number]): EventBody[] {
    const { id, index, function: called } = call
    const place = typeof index === 'number' ? index : this.#calls.size
    const known = this.#calls.get(place)
    if (known) return known.grown(called?.arguments ?? '')
    const opening = this.#next('function_call', { callId: id ?? `call_${place}`, name: called?.name ?? '' })
    if (this.#open) this.#calls.set(place, this.#open)
    return [...opening, ...(this.#open?.grown(called?.arguments ?? '') ?? [])]
  }

  /**
   * Closes the open item and opens the next. Calls stay open until the end, because their pieces may be interleaved.
   */
  #next(kind: OpenItem['kind'], call?: { callId: string; name: string }): EventBody[] {
    const before = this.#open
    const closing = before && before.kind !== 'function_call' ? before.closed(this.#sources) : []
    this.#open = new OpenItem({ kind, answerId: this.#chatId, index: this.#items.length, ...(call ? { call } : {}) })
    this.#items.push(this.#open)
    return [...closing, ...this.#open.opened()]
  }

  #isClosed(item: OpenItem): boolean {
    return item !== this.#open && item.kind !== 'function_call'
  }

  #response(
    status: ResponsesAnswer['status'],
    rest: Pick<ResponsesAnswer, 'output'> & Partial<ResponsesAnswer>,
  ): ResponsesAnswer {
    const { id, created_at, model } = this.#head ?? { id: responseId(''), created_at: 0, model: '' }
    return { id, object: 'response', created_at, model, status, ...rest }
  }

  #numbered(bodies: readonly EventBody[]): ResponsesEvent[] {
    return bodies.map((body, index) => ({ ...body, sequence_number: this.#number + index }))
  }
}

/** An event before it gets its number. */
type EventBody = { type: string } & Record<string, unknown>

interface OpenItemParts {
  kind: OutputItem['type']
  /** The chat's id. */
  answerId: string
  index: number
  call?: { callId: string; name: string }
}

/** One item of an answer while it grows: its content so far, and the events that report it. */
class OpenItem {
  readonly kind: OutputItem['type']
  readonly #id: string
  readonly #index: number
  readonly #call: { callId: string; name: string }
  #text = ''

  constructor({ kind, answerId, index, call = { callId: '', name: '' } }: OpenItemParts) {
    this.kind = kind
    this.#id = itemId(kind, answerId, index)
    this.#index = index
    this.#call = call
  }

  get #place() {
    return { item_id: this.#id, output_index: this.#index }
  }

  /** Returns the item of a finished answer. */
  whole(sources: Sources): OutputItem {
    switch (this.kind) {
      case 'reasoning':
        return reasoningItem(this.#text, this.#id)
      case 'message':
        return messageItem(this.#text, sources, this.#id)
      case 'function_call':
        return callItem({ ...this.#call, written: this.#text }, this.#id)
      case 'web_search_call':
        return searchItem(this.#id)
    }
  }

  opened(): EventBody[] {
    const added = { type: 'response.output_item.added', output_index: this.#index, item: this.#atFirst() }
    if (this.kind !== 'message') return [added]
    const part = { type: 'output_text', text: '', annotations: [] }
    return [added, { type: 'response.content_part.added', ...this.#place, content_index: 0, part }]
  }

  grown(delta: string): EventBody[] {
    if (!delta) return []
    this.#text += delta
    switch (this.kind) {
      case 'reasoning':
        return [{ type: 'response.reasoning.delta', ...this.#place, delta }]
      case 'message':
        return [{ type: 'response.output_text.delta', ...this.#place, content_index: 0, delta }]
      case 'function_call':
        return [{ type: 'response.function_call_arguments.delta', ...this.#place, delta }]
      case 'web_search_call':
        return []
    }
  }

  /** Has no side effects, so that it can be called twice. */
  closed(sources: Sources): EventBody[] {
    const item = this.whole(sources)
    const done = { type: 'response.output_item.done', output_index: this.#index, item }
    if (item.type === 'function_call') {
      const { name, arguments: written } = item
      return [{ type: 'response.function_call_arguments.done', ...this.#place, name, arguments: written }, done]
    }
    if (item.type !== 'message') return [done]
    const [part] = item.content
    const place = { ...this.#place, content_index: 0 }
    return [
      { type: 'response.output_text.done', ...place, text: part?.text ?? '' },
      { type: 'response.content_part.done', ...place, part },
      done,
    ]
  }

  #atFirst(): object {
    const item = this.whole([])
    if (item.type === 'message') return { ...item, status: 'in_progress', content: [] }
    return item.type === 'function_call' ? { ...item, status: 'in_progress' } : item
  }
}

type Sources = NonNullable<ServiceParametersEcho['web_search_citations']>

/** Finds which source each part of a text cites, by the marks that the model was told to use (brief §2.8). */
const citationsIn = (text: string, sources: Sources) =>
  [...text.matchAll(/\[REF\](\d{1,3})\[\/REF\]/g)].flatMap(({ 0: mark, 1: number, index }) => {
    const source = sources[Number(number)]
    if (!source) return []
    const { url, title } = source
    return [{ type: 'url_citation' as const, url, title, start_index: index, end_index: index + mark.length }]
  })

/** Converts a whole answer of a chat to a response. */
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
    // Ids are derived, because an answer that is kept for a key is built twice and must be the same.
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
    // An answer without any content is still an answer.
    ...(text || !calls.length ? [messageItem(text, sources, '')] : []),
    ...calls.map(({ id, function: called }, index) =>
      callItem({ callId: id ?? `call_${index}`, name: called?.name ?? '', written: called?.arguments ?? '' }, ''),
    ),
  ]
}

/** Engines use different names for it. */
function reasoningOf(message: { reasoning_content?: unknown; reasoning?: unknown }): string {
  const { reasoning_content: published, reasoning } = message
  if (typeof published === 'string' && published) return published
  return typeof reasoning === 'string' ? reasoning : ''
}

const textOf = (content: Message['content']): string =>
  typeof content === 'string'
    ? content
    : (content ?? []).map(part => ('text' in part && typeof part.text === 'string' ? part.text : '')).join('')

const coreOf = (chatId: string): string => chatId.replace(/^chatcmpl-/, '')

const responseId = (chatId: string): string => `resp_${coreOf(chatId)}`

const prefixes: Readonly<Record<OutputItem['type'], string>> = {
  reasoning: 'rs',
  message: 'msg',
  function_call: 'fc',
  web_search_call: 'ws',
}

/** Returns the id of the item at that position of an answer. */
const itemId = (type: OutputItem['type'], chatId: string, index: number): string =>
  `${prefixes[type]}_${coreOf(chatId)}_${index}`

const searchItem = (id: string): OutputItem => ({ type: 'web_search_call', id, status: 'completed' })

const reasoningItem = (text: string, id: string): OutputItem => ({
  type: 'reasoning',
  id,
  summary: text ? [text] : [],
})

const messageItem = (text: string, sources: Sources, id: string): OutputItem => ({
  type: 'message',
  id,
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: citationsIn(text, sources) }],
})

const callItem = (
  { callId, name, written }: { callId: string; name: string; written: string },
  id: string,
): OutputItem => ({ type: 'function_call', id, call_id: callId, name, arguments: written, status: 'completed' })

const usageOf = (usage: TokenUsage): NonNullable<ResponsesAnswer['usage']> => ({
  input_tokens: usage.prompt_tokens,
  input_tokens_details: { cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0 },
  output_tokens: usage.completion_tokens,
  output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
  total_tokens: usage.total_tokens,
})
