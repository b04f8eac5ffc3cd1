import type { OutputItem } from '#contract/operations/responses.ts'
import type { Sources } from './citations.ts'
import { callItem, itemId, messageItem, reasoningItem, searchItem } from './response-of.ts'

/** An event before it has its number. */
export type EventBody = { type: string } & Record<string, unknown>

export interface OpenItemParts {
  kind: OutputItem['type']
  /** Of the chat. */
  answerId: string
  index: number
  call?: { callId: string; name: string }
}

/** One item of an answer while it grows: what it is so far, and the events that tell of it. */
export class OpenItem {
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
