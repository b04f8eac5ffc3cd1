import type { ChatCompletion, ChatCompletionChunk } from '#contract/operations/chat.ts'
import type { ServiceParametersEcho } from '#contract/operations/service-parameters.ts'
import { xSearchResults } from '#contract/operations/web.ts'
import { searchDocumentsTool } from '#contract/wire/vendor.ts'
import type { SearchResult } from '#engines/ports/engine.ts'
import type { Line } from '#ledger/store/units.ts'
import { xSearchLines } from '../web/routes.ts'

/**
 * Removes `<think>…</think>` from text that may arrive in pieces of any length (brief §2.8, the legacy tag format).
 * Text that might start a tag is held back until the next piece decides.
 */
export class ThinkingStripper {
  #inside = false
  #kept = ''
  #afterBlock = false

  /** Adds a piece and returns the text that may be shown now. */
  push(piece: string): string {
    let rest = this.#kept + piece
    let shown = ''
    this.#kept = ''
    for (;;) {
      const tag = this.#inside ? '</think>' : '<think>'
      const at = rest.indexOf(tag)
      if (at === -1) {
        const tail = openTail(rest, tag)
        if (!this.#inside) shown += this.#visible(rest.slice(0, rest.length - tail))
        this.#kept = rest.slice(rest.length - tail)
        return shown
      }
      if (!this.#inside) shown += this.#visible(rest.slice(0, at))
      else this.#afterBlock = true
      this.#inside = !this.#inside
      rest = rest.slice(at + tag.length)
    }
  }

  /** Returns held-back text that was not a tag; nothing if a block was left open. */
  end(): string {
    const kept = this.#inside ? '' : this.#kept
    this.#kept = ''
    return kept
  }

  /** Blank lines that separate a block from the answer are removed with it. */
  #visible(text: string): string {
    if (!this.#afterBlock) return text
    const trimmed = text.replace(/^\s+/, '')
    if (trimmed) this.#afterBlock = false
    return trimmed
  }
}

/** Returns the length of the longest suffix of `text` that is a prefix of `tag`. */
function openTail(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}

export function stripThinking(text: string): string {
  const stripper = new ThinkingStripper()
  return stripper.push(text) + stripper.end()
}

type Generated = Readonly<Record<string, unknown>>

/**
 * Engines have many names for it: `reasoning_content`, `reasoning`, `reasoning_details`, `thinking`, `thinking_blocks`.
 */
const thinks = (name: string): boolean => /^(reasoning|thinking)/i.test(name)

/**
 * Removes an engine's reasoning from a message or a piece of one, whether in members of its own or in parts of the
 * content. Returns the same object if there is none.
 */
export function withoutReasoning<Message extends Generated>(message: Message): Message {
  const { content } = message
  const parts = Array.isArray(content) ? content.filter(({ type }) => !thinks(String(type))) : null
  const others = Object.entries(message).filter(([name]) => !thinks(name))
  const hasParts = parts !== null && parts.length < (content as unknown[]).length
  if (others.length === Object.keys(message).length && !hasParts) return message
  return { ...Object.fromEntries(others), ...(parts ? { content: parts } : {}) } as Message
}

/**
 * Collects what an engine reports about its own search, in an answer or its chunks, in xAI's form and those of
 * gateways.
 */
export class OwnSearch {
  readonly #sources = new Map<string, SearchResult>()
  #results = 0
  #hasSaid = false

  read(answer: ChatCompletion | ChatCompletionChunk): void {
    for (const list of citationLists(answer)) {
      this.#hasSaid = true
      for (const source of list.map(sourceOf)) {
        if (source && this.#sources.size < xSearchResults) this.#sources.set(source.url, source)
      }
    }
    for (const figure of figuresOf(answer.usage ?? {})) {
      this.#hasSaid = true
      this.#results = Math.max(this.#results, figure)
    }
  }

  get sources(): readonly SearchResult[] {
    return [...this.#sources.values()]
  }

  /** An engine that was asked to search but does not report results is charged one result. */
  lines(): Line[] {
    return xSearchLines(this.#hasSaid ? Math.max(this.#results, this.#sources.size) : 1)
  }
}

/** Adds the engine's findings to an answer's echo, after those that were read here. */
export function echoWith(echo: ServiceParametersEcho, own: readonly SearchResult[]): ServiceParametersEcho {
  if (!own.length) return echo
  return { ...echo, web_search_citations: [...(echo.web_search_citations ?? []), ...citationsOf(own, citedCharacters)] }
}

/** `citations` next to the choices, or the annotations of a text. */
function citationLists({ choices, ...answer }: ChatCompletion | ChatCompletionChunk): (readonly unknown[])[] {
  const { citations } = answer as { citations?: unknown }
  const texts = choices.map(choice => ('message' in choice ? choice.message : choice.delta))
  const annotations = texts.map(text => (text as { annotations?: unknown }).annotations)
  return [citations, ...annotations].filter(list => Array.isArray(list))
}

/** A URL, or an object with one, which some gateways nest one level deeper. */
function sourceOf(citation: unknown): SearchResult | null {
  const {
    url_citation: inner,
    url,
    title,
    content,
    date,
  } = (typeof citation === 'string' ? { url: citation } : (citation ?? {})) as Record<string, unknown>
  if (inner) return sourceOf(inner)
  if (typeof url !== 'string' || !/^https?:/i.test(url)) return null
  return {
    url: url.slice(0, sourceHeadCharacters),
    title: stringOf(title).slice(0, sourceHeadCharacters / 4) || url.slice(0, sourceHeadCharacters / 4),
    content: stringOf(content),
    date: stringOf(date).slice(0, 40),
  }
}

const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Reads the counts in a usage: sources used, searched and fetched. */
function figuresOf(usage: object): number[] {
  const { num_sources_used: used, server_side_tool_usage_details: details } = usage as Record<string, unknown>
  const { web_search_calls, x_search_calls, x_posts_fetched, x_users_fetched } = (details ?? {}) as Record<
    string,
    unknown
  >
  return [[used], [web_search_calls, x_search_calls], [x_posts_fetched, x_users_fetched]]
    .map(group => group.filter(isCount))
    .filter(group => group.length > 0)
    .map(group => group.reduce((sum, count) => sum + count, 0))
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

type Choice = ChatCompletion['choices'][number]

/** Shows search results as a tool call that needs no answer (brief §2.8; arguments as published, §5.3). */
const documentsCall = (sources: readonly SearchResult[]) => ({
  id: 'web_search_call',
  type: 'function',
  function: {
    name: searchDocumentsTool,
    arguments: JSON.stringify({
      documents: sources.map(({ title, url, content, date }, index) => ({
        id: String(index),
        title,
        url,
        snippet: content,
        ...(date ? { published_at: date } : {}),
      })),
    }),
  },
})

/** Added to the model's own tool calls. */
export const withDocuments = (choice: Choice, sources: readonly SearchResult[]): Choice => ({
  ...choice,
  message: { ...choice.message, tool_calls: [documentsCall(sources), ...(choice.message.tool_calls ?? [])] },
})

/** The documents as a piece of a stream's first choice. */
export const documentsDelta = (sources: readonly SearchResult[]): ChatCompletionChunk['choices'][number] => ({
  index: 0,
  delta: { role: 'assistant', tool_calls: [{ index: 0, ...documentsCall(sources) }] },
  finish_reason: null,
})

/** Clients join the pieces of a call by index, and index 0 of the first choice is already in use. */
export const behindDocuments = (chunk: ChatCompletionChunk): ChatCompletionChunk => ({
  ...chunk,
  choices: chunk.choices.map(choice =>
    choice.index === 0 && choice.delta.tool_calls?.length
      ? { ...choice, delta: { ...choice.delta, tool_calls: choice.delta.tool_calls.map(oneFurther) } }
      : choice,
  ),
})

const oneFurther = <Call extends object>(call: Call): Call => {
  const index = 'index' in call && typeof call.index === 'number' ? call.index : 0
  return { ...call, index: index + 1 }
}

/** How an answer's echo lists the sources that the model was shown. */
export const citationsOf = (
  sources: readonly SearchResult[],
  characters: number,
): NonNullable<ServiceParametersEcho['web_search_citations']> =>
  sources.map(({ title, url, content, date }) => ({
    title,
    url,
    content: content.slice(0, characters),
    ...(date ? { date } : {}),
  }))

/** Longest title, address and date of one source. */
export const sourceHeadCharacters = 2_048

/** How much of its source a citation in an answer repeats. */
export const citedCharacters = 500
