import type { ChatCompletionChunk } from '#contract/operations/chat.ts'
import type { OutputItem, ResponsesAnswer, ResponsesEvent } from '#contract/operations/responses.ts'
import {
  callItem,
  itemId,
  messageItem,
  reasoningItem,
  reasoningOf,
  responseId,
  type Sources,
  searchItem,
  usageOf,
} from './response-of.ts'

/** What a stream of a chat says: a piece of the answer, or why there is no more of it. */
export type ChatEvent = Partial<ChatCompletionChunk> & { error?: { message: string; code: string | null } }

type Delta = ChatCompletionChunk['choices'][number]['delta']

/** Tells a chat's stream as the events of a response. */
export class ResponseEvents {
  readonly #items: OpenItem[] = []
  /** Of the calls of the model, by their place. */
  readonly #calls = new Map<number, OpenItem>()
  #open: OpenItem | null = null
  #head: Pick<ResponsesAnswer, 'id' | 'created_at' | 'model'> | null = null
  #chatId = ''
  #sources: Sources = []
  #endsAtLimit = false
  #number = 0

  /** Events of a piece of the answer, in their order. */
  push(event: ChatEvent): ResponsesEvent[] {
    const bodies = [...this.#begin(event), ...this.#search(event)]
    for (const { index, delta, finish_reason: reason } of event.choices ?? []) {
      // One answer: a request has no way to ask for several.
      if (index !== 0) continue
      bodies.push(...this.#grow(delta))
      if (reason === 'length') this.#endsAtLimit = true
    }
    const events = this.#numbered(bodies)
    this.#number += events.length
    return events
  }

  /** Events of the end, which says the usage or what went wrong. Changes nothing, so that it may be told again. */
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

  /** Closes what is open and opens the next. Calls stay open to the end, because their pieces may come in turns. */
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

/** An event before it has its number. */
type EventBody = { type: string } & Record<string, unknown>

interface OpenItemParts {
  kind: OutputItem['type']
  /** Of the chat. */
  answerId: string
  index: number
  call?: { callId: string; name: string }
}

/** One item of an answer while it grows: what it is so far, and the events that tell of it. */
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

  /** As it stands in an answer that has ended. */
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

  /** Changes nothing, so that it may be asked twice. */
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
