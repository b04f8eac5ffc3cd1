import type { ChatCompletion, ChatCompletionChunk } from '#contract/operations/chat.ts'
import type { ServiceParametersEcho } from '#contract/operations/service-parameters.ts'
import { xSearchResults } from '#contract/operations/web.ts'
import { searchDocumentsTool } from '#contract/wire/vendor.ts'
import type { SearchResult } from '#engines/ports/engine.ts'
import type { Line } from '#ledger/store/units.ts'
import { xSearchLines } from '../web/routes.ts'

/**
 * Removes `<think>…</think>` from text that may come in pieces cut anywhere (brief §2.8, the legacy tag format).
 * Text that might be the beginning of a tag is kept back until the next piece decides.
 */
export class ThinkingStripper {
  #inside = false
  #kept = ''
  #afterBlock = false

  /** The part of what has come so far that may be shown now. */
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

  /** What was kept back and turned out to be no tag; nothing when a block was left open. */
  end(): string {
    const kept = this.#inside ? '' : this.#kept
    this.#kept = ''
    return kept
  }

  /** The blank lines that separate a block from the answer go with the block. */
  #visible(text: string): string {
    if (!this.#afterBlock) return text
    const trimmed = text.replace(/^\s+/, '')
    if (trimmed) this.#afterBlock = false
    return trimmed
  }
}

/** Length of the longest end of `text` that is a beginning of `tag`. */
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

/** `reasoning_content`, `reasoning`, `reasoning_details`, `thinking`, `thinking_blocks`: engines have many names for it. */
const thinks = (name: string): boolean => /^(reasoning|thinking)/i.test(name)

/**
 * A message, or a piece of one, without what its engine put beside the answer as reasoning, in members of their own or in
 * parts of the content. The same one where there is none.
 */
export function withoutReasoning<Message extends Generated>(message: Message): Message {
  const { content } = message
  const parts = Array.isArray(content) ? content.filter(({ type }) => !thinks(String(type))) : null
  const others = Object.entries(message).filter(([name]) => !thinks(name))
  const hasParts = parts !== null && parts.length < (content as unknown[]).length
  if (others.length === Object.keys(message).length && !hasParts) return message
  return { ...Object.fromEntries(others), ...(parts ? { content: parts } : {}) } as Message
}

/** What an engine says of its own search, in an answer or in the chunks of one: xAI's words, and those of gateways. */
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

  /** An engine that was asked to search and does not say what it found is taken to have found one result. */
  lines(): Line[] {
    return xSearchLines(this.#hasSaid ? Math.max(this.#results, this.#sources.size) : 1)
  }
}

/** The echo of an answer with what the engine found, after what was read here. */
export function echoWith(echo: ServiceParametersEcho, own: readonly SearchResult[]): ServiceParametersEcho {
  if (!own.length) return echo
  return { ...echo, web_search_citations: [...(echo.web_search_citations ?? []), ...citationsOf(own, citedCharacters)] }
}

/** `citations` beside the choices, or the annotations of a text. */
function citationLists({ choices, ...answer }: ChatCompletion | ChatCompletionChunk): (readonly unknown[])[] {
  const { citations } = answer as { citations?: unknown }
  const texts = choices.map(choice => ('message' in choice ? choice.message : choice.delta))
  const annotations = texts.map(text => (text as { annotations?: unknown }).annotations)
  return [citations, ...annotations].filter(list => Array.isArray(list))
}

/** An address, or an object with one, which some gateways put one level deeper. */
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

/** Counts of a usage: what was used, what was searched for, and what was fetched. */
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

/** What was found as the call of a tool that nobody has to answer (brief §2.8; its arguments as published, §5.3). */
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

/** Beside whatever tools the model itself calls. */
export const withDocuments = (choice: Choice, sources: readonly SearchResult[]): Choice => ({
  ...choice,
  message: { ...choice.message, tool_calls: [documentsCall(sources), ...(choice.message.tool_calls ?? [])] },
})

/** The same as a piece of a stream's first choice. */
export const documentsDelta = (sources: readonly SearchResult[]): ChatCompletionChunk['choices'][number] => ({
  index: 0,
  delta: { role: 'assistant', tool_calls: [{ index: 0, ...documentsCall(sources) }] },
  finish_reason: null,
})

/** A client joins the pieces of a call by its place, and the first place of the first choice is taken. */
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

/** How an answer's echo names what was put before the model. */
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

/** Title, address and date of one source. */
export const sourceHeadCharacters = 2_048

/** What a citation in an answer repeats of its source. */
export const citedCharacters = 500
