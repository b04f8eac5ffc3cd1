import { fieldError } from '#contract/errors/issues.ts'
import { type WebPage, type WebSearchResults, webScrape, webSearch } from '#contract/operations/web.ts'
import { PageUnread } from '#engines/ports/engine.ts'
import { json, route } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'
import { pageReaderOf, readPage, searchEngineOf, searchWeb, webLines, webPrice } from './web-use.ts'

const oneSearch = { searches: 1, pages: 0 }

/** A search is charged whatever it finds. One that fails is free. */
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

/** A page that cannot be read is the caller's to change: another address may work. */
function refused(error: unknown): never {
  throw error instanceof PageUnread ? fieldError(['url'], error.message) : error
}
