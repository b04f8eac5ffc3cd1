import { Agent, request as send } from 'undici'
import { z } from 'zod'
import { bytesWithin } from '#host/network.ts'
import type { SearchCall, SearchEngine, SearchResult } from '../ports/engine.ts'

/** A page of results; those of real engines have some 100 kB. */
export const searchAnswerBytes = 4 * 1024 * 1024

/** A search that asks many engines at once waits for the slowest of them. */
export const searchMs = 15_000

/** Text that one result may have, so that no engine fills a prompt with one of them. */
export const resultCharacters = 4_000

export interface SearxngSearchOptions {
  /** Where it answers, such as `http://127.0.0.1:8888`; its settings have to allow the format `json`. */
  baseUrl: string
  /** BCP 47; the server's own setting where absent. */
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

/** A SearXNG server of the operator's. */
export class SearxngSearch implements SearchEngine {
  readonly #url: URL
  readonly #language: string | undefined
  readonly #timeoutMs: number
  readonly #agent = new Agent()

  /** Throws one sentence where the address cannot be used. */
  constructor({ baseUrl, language, timeoutMs = searchMs }: SearxngSearchOptions) {
    const base = URL.canParse(baseUrl) ? new URL(baseUrl) : null
    if (!base || !/^https?:$/.test(base.protocol) || base.username || base.password) {
      throw new Error('The address of SearXNG must be http or https, with no user and no password in it.')
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
      const hint = response.statusCode === 403 ? ' Its settings have to list json under search.formats.' : ''
      throw new Error(`SearXNG answered ${response.statusCode}.${hint}`)
    }
    return resultsOf(await readJson(response.body)).slice(0, limit)
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }
}

async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const bytes = await bytesWithin(body, searchAnswerBytes)
  if (!bytes) throw new Error('The answer of SearXNG is too large.')
  return JSON.parse(bytes.toString('utf8'))
}

/** Results that lead nowhere on the web, or twice to the same page, are left out. */
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
