import { notSetUp, searchFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { type MicroUsd, microUsd, picoPerMicro } from '#contract/money.ts'
import {
  augmentMicroUsd,
  type WebPage,
  type WebSearchResults,
  webScrape,
  webSearch,
  xSearchMicroUsd,
  xSearchResults,
} from '#contract/operations/web.ts'
import { shouldRetry } from '#contract/wire/headers.ts'
import {
  type PageCall,
  type PageReader,
  PageUnread,
  type ReadPage,
  type SearchCall,
  type SearchEngine,
  type SearchResult,
  type Web,
} from '#engines/ports/engine.ts'
import { boundedWait } from '#host/async.ts'
import type { Log } from '#host/log.ts'
import type { Line } from '#ledger/store/units.ts'
import { json, route } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'

/** Successful searches and pages of a caller. */
export interface WebUse {
  searches: number
  pages: number
}

/** One line for each kind that was used (published contract §15). */
export const webLines = ({ searches, pages }: WebUse): Line[] =>
  [
    { sku: 'web.search', count: searches },
    { sku: 'web.scrape', count: pages },
  ]
    .filter(({ count }) => count > 0)
    .map(({ sku, count }) => ({
      sku,
      units: BigInt(count),
      unitPricePicoUsd: BigInt(augmentMicroUsd) * picoPerMicro,
      amount: microUsd(count * augmentMicroUsd),
    }))

/** The line of a document or transcript, which costs as much as a page. */
export const webPiecePrice = (sku: string): Line => ({
  sku,
  units: 1n,
  unitPricePicoUsd: BigInt(augmentMicroUsd) * picoPerMicro,
  amount: microUsd(augmentMicroUsd),
})

export const webPrice = ({ searches, pages }: WebUse): MicroUsd => microUsd((searches + pages) * augmentMicroUsd)

/** A model's own search, priced per result, up to the number that a chat pays for. */
export function xSearchLines(results: number): Line[] {
  const count = Math.min(results, xSearchResults)
  if (count === 0) return []
  return [
    {
      sku: 'x.search',
      units: BigInt(count),
      unitPricePicoUsd: BigInt(xSearchMicroUsd) * picoPerMicro,
      amount: microUsd(count * xSearchMicroUsd),
    },
  ]
}

export const mostOfXSearch: MicroUsd = microUsd(xSearchResults * xSearchMicroUsd)

/** Throws `notSetUp` if the operator has not configured a search engine. */
export function searchEngineOf({ search }: Pick<Web, 'search'>): SearchEngine {
  if (search) return search
  throw unset('This service has no web search. Continue without it, or ask its operator to enable it.')
}

/** A 503 that a retry does not fix. */
export const unset = (error: string): ServiceError =>
  notSetUp({ error }, { [shouldRetry.name]: shouldRetry.format(false) })

/** Throws `searchFailed` for every failure of the engine, or the signal's reason. */
export async function searchWeb(engine: SearchEngine, call: SearchCall, log: Log): Promise<SearchResult[]> {
  const { signal, limit } = call
  try {
    const results = await boundedWait(engine.search(call), { signal })
    signal.throwIfAborted()
    return results.slice(0, limit).map(({ title, url, content, date }) => ({ title, url, content, date }))
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ServiceError) throw error
    log.warn({ err: error }, 'A web search failed.')
    throw searchFailed()
  }
}

/** Throws `notSetUp` if the operator has not configured a page reader. */
export function pageReaderOf({ pages }: Pick<Web, 'pages'>): PageReader {
  if (pages) return pages
  throw unset('This service cannot read web pages. Send the text itself, or ask its operator to enable it.')
}

/** Throws `PageUnread`, the signal's reason, or the reader's own error. */
export async function readPage(reader: PageReader, call: PageCall): Promise<ReadPage> {
  const { signal } = call
  const page = await boundedWait(reader.read(call), { signal })
  signal.throwIfAborted()
  return page
}

const oneSearch = { searches: 1, pages: 0 }

/** A search is charged whatever it finds. A failed one is free. */
export const webSearchRoute = route(webSearch, async (call, service) => {
  const engine = searchEngineOf(service.web)
  const { query, limit, search_provider: provider } = call.body
  return sell(call, { model: null, amount: webPrice(oneSearch) }, service, async () => {
    const asked = { query, limit, ...(provider === undefined ? {} : { provider }), signal: call.signal }
    const results = await searchWeb(engine, asked, service.log)
    const reply = json({ query, results } satisfies WebSearchResults)
    return { value: reply, lines: webLines(oneSearch), alsoCommit: () => call.keep(() => reply) }
  })
})

const onePage = { searches: 0, pages: 1 }

/** A page that could not be read is free. */
export const webScrapeRoute = route(webScrape, async (call, service) => {
  const { url } = call.body
  const reader = pageReaderOf(service.web)
  return sell(call, { model: null, amount: webPrice(onePage) }, service, async () => {
    const { content } = await readPage(reader, {
      url,
      fetcher: call.fetcher,
      count: call.fetcher.count,
      signal: call.signal,
    }).catch(refused)
    const reply = json({ url, content, format: 'markdown' } satisfies WebPage)
    return { value: reply, lines: webLines(onePage), alsoCommit: () => call.keep(() => reply) }
  })
})

/** The caller can fix an unreadable page: another URL may work. */
function refused(error: unknown): never {
  throw error instanceof PageUnread ? fieldError(['url'], error.message) : error
}
