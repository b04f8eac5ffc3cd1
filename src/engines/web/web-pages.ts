import { Agent, request as send } from 'undici'
import { z } from 'zod'
import { bytesWithin } from '#host/network.ts'
import { TaskFailed, TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { FetchRefused, FirstUseFetcher } from '../fetch/fetcher.ts'
import type { FetchedFile } from '../fetch/guarded-fetcher.ts'
import {
  type PageCall,
  type PageReader,
  PageUnread,
  type ReadPage,
  type SearchCall,
  type SearchEngine,
  type SearchResult,
} from '../ports/engine.ts'

/** Largest page markup; the largest articles have 2 to 3 MB. */
const pageBytes = 5 * 1024 * 1024

/** Timeout of fetching a page. */
const pageFetchMs = 20_000

/** Longest Markdown of a page: a book chapter. The rest is cut off, with a notice. */
const pageCharacters = 200_000

/** Timeout of the conversion, which takes 0.1 to 1 s; a page built to take longer is given up. */
const convertMs = 10_000

/** Memory of the thread that does it; the markup of the largest page takes a third of it. */
const convertHeapMb = 512

/** Pages that may wait for that thread; further ones are refused with Retry-After. */
const pagesWaiting = 64

export interface WebPagesOptions {
  /** `host:port` that may be read although it is private; overrides the service's list. */
  privateHosts?: readonly string[]
  convertMs?: number
}

/** Reads public web pages as Markdown; needs the packages `defuddle` and `linkedom`. */
export class WebPages implements PageReader {
  /** For its own private hosts, and for calls without a fetcher. */
  readonly #own: FirstUseFetcher
  readonly #hasHosts: boolean
  readonly #converter: PageConverter

  constructor({ privateHosts, convertMs }: WebPagesOptions = {}) {
    this.#own = new FirstUseFetcher(privateHosts ? { privateHosts } : {})
    this.#hasHosts = privateHosts !== undefined
    this.#converter = new PageConverter(convertMs === undefined ? {} : { timeoutMs: convertMs })
  }

  async read({ url, fetcher, count, signal }: PageCall): Promise<ReadPage> {
    const { mostBytes, timeoutMs } = { mostBytes: pageBytes, timeoutMs: pageFetchMs }
    const way = this.#hasHosts ? this.#own : (fetcher ?? this.#own)
    const counted = way === this.#own && count ? { arrived: count } : {}
    const file = await way.fetch({ url, accept, mostBytes, timeoutMs, signal, ...counted }).catch(unfetched)
    const text = textOf(file)
    if (isText.has(file.mimeType)) {
      if (!text.trim()) throw new PageUnread('has no readable text')
      return { title: '', content: cut(text) }
    }
    if (!isMarkup.has(file.mimeType)) throw new PageUnread('is not a page: its content type is neither HTML nor text')
    const { title, markdown } = await this.#converter.convert({ html: text, url: file.url }, signal)
    return { title, content: cut(markdown) }
  }

  async close(): Promise<void> {
    await Promise.all([this.#own.close(), this.#converter.close()])
  }
}

const accept = 'text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9'

const isMarkup: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml'])
const isText: ReadonlySet<string> = new Set(['text/plain', 'text/markdown', 'text/csv', 'application/json'])

function unfetched(error: unknown): never {
  if (!(error instanceof FetchRefused)) throw error
  throw new PageUnread(error.reason === 'address' ? error.message : `could not be read: ${error.message}`)
}

/** Uses the charset from the server's header or the page's head; an unknown one is taken for UTF-8. */
function textOf({ bytes, charset }: FetchedFile): string {
  const head = bytes.subarray(0, 1_024).toString('latin1')
  const label = charset ?? /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(head)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

const cut = (text: string): string =>
  text.length <= pageCharacters ? text : `${text.slice(0, pageCharacters)}\n\n(The rest of the page was left out.)`

export interface ConvertedPage {
  title: string
  markdown: string
}

/** Converts pages to Markdown on a thread, because untrusted input may run for long or exhaust memory. */
export class PageConverter {
  readonly #thread: TaskThread<ConvertRequest, ConvertAnswer>

  constructor({ timeoutMs = convertMs }: { timeoutMs?: number } = {}) {
    const url = threadUrl('page-thread', import.meta.url)
    this.#thread = new TaskThread({ name: 'pages', url, timeoutMs, waiting: pagesWaiting, heapMb: convertHeapMb })
  }

  /** Throws `PageUnread`, `modelOverloaded`, the signal's reason, or a sentence that says what to install. */
  async convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertedPage> {
    const answer = await this.#thread.run(request, signal).catch(unread)
    if ('problem' in answer) throw new Error(answer.problem)
    if ('tooDeep' in answer) throw new PageUnread('is nested too deeply')
    if (!answer.page) throw new PageUnread('has no readable text')
    return answer.page
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

function unread(error: unknown): never {
  if (!(error instanceof TaskFailed)) throw error
  throw new PageUnread(error.reason === 'late' ? 'takes too long to read' : 'needs too much memory to read')
}

export interface ConvertRequest {
  html: string
  url: string
}

/** Null if the page has no text; a problem is about the packages, not the page. */
export type ConvertAnswer =
  | { page: { title: string; markdown: string } | null }
  | { tooDeep: true }
  | { problem: string }

/** Largest page of results; real engines return some 100 kB. */
const searchAnswerBytes = 4 * 1024 * 1024

/** A search that queries many engines at once waits for the slowest of them. */
const searchMs = 15_000

/** Longest text of one result, so that a single one cannot fill a prompt. */
const resultCharacters = 4_000

export interface SearxngSearchOptions {
  /** Its address, such as `http://127.0.0.1:8888`; its settings must allow the format `json`. */
  baseUrl: string
  /** BCP 47; the server's own setting by default. */
  language?: string
  timeoutMs?: number
}

const Result = z.looseObject({
  title: z.string(),
  url: z.string(),
  content: z.string().nullish(),
  publishedDate: z.string().nullish(),
})
const Answer = z.looseObject({ results: z.array(z.unknown()) })

/** Searches with the operator's SearXNG server. */
export class SearxngSearch implements SearchEngine {
  readonly #url: URL
  readonly #language: string | undefined
  readonly #timeoutMs: number
  readonly #agent = new Agent()

  /** Throws one sentence if the address is invalid. */
  constructor({ baseUrl, language, timeoutMs = searchMs }: SearxngSearchOptions) {
    const base = URL.canParse(baseUrl) ? new URL(baseUrl) : null
    if (!base || !/^https?:$/.test(base.protocol) || base.username || base.password) {
      throw new Error('The address of SearXNG must be http or https, without user name or password.')
    }
    base.pathname = `${base.pathname.replace(/\/+$/, '')}/search`
    this.#url = base
    this.#language = language
    this.#timeoutMs = timeoutMs
  }

  async search({ query, limit, provider, signal }: SearchCall): Promise<SearchResult[]> {
    const url = new URL(this.#url)
    url.search = new URLSearchParams({ q: query, format: 'json' }).toString()
    if (this.#language !== undefined) url.searchParams.set('language', this.#language)
    if (provider !== undefined) url.searchParams.set('engines', provider)
    const response = await send(url, {
      headers: { accept: 'application/json' },
      dispatcher: this.#agent,
      signal: AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]),
    })
    response.body.on('error', () => undefined)
    if (response.statusCode !== 200) {
      response.body.destroy()
      const hint = response.statusCode === 403 ? ' Its settings must list json under search.formats.' : ''
      throw new Error(`SearXNG answered ${response.statusCode}.${hint}`)
    }
    return resultsOf(await readJson(response.body)).slice(0, limit)
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }
}

async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const bytes = await bytesWithin(body, searchAnswerBytes)
  if (!bytes) throw new Error('The answer of SearXNG is too large.')
  return JSON.parse(bytes.toString('utf8'))
}

/** Results that do not lead to the web, or repeat a page, are dropped. */
function resultsOf(answer: unknown): SearchResult[] {
  const seen = new Set<string>()
  return Answer.parse(answer).results.flatMap(each => {
    const read = Result.safeParse(each)
    if (!read.success || !/^https?:\/\//i.test(read.data.url) || seen.has(read.data.url)) return []
    const { title, url, content, publishedDate } = read.data
    seen.add(url)
    return [{ title, url, content: (content ?? '').slice(0, resultCharacters), date: publishedDate ?? '' }]
  })
}
