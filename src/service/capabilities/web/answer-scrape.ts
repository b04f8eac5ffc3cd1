import { fieldError } from '#contract/errors/issues.ts'
import type { WebPage, WebScrapeRequest } from '#contract/operations/web.ts'
import { PageUnread } from '#engines/ports/engine.ts'
import { type Call, type JsonReply, json } from '../../http/call.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { webLines, webPrice } from './price-web.ts'
import { pageReaderOf, readPage } from './read-page.ts'

const use = { searches: 0, pages: 1 }

/** One page that could be read. One that could not is free. */
export async function answerScrape(call: Call, { url }: WebScrapeRequest, service: Service): Promise<JsonReply> {
  const reader = pageReaderOf(service.web)
  return sell(call, { model: null, amount: webPrice(use) }, service, async () => {
    const { content } = await readPage(reader, { url, fetcher: service.fetcher, signal: call.signal }).catch(refused)
    const reply = json({ url, content, format: 'markdown' } satisfies WebPage)
    return { value: reply, lines: webLines(use), alsoCommit: () => call.keep(() => reply) }
  })
}

/** What the page or its server is at fault for, the caller can only help by another address. */
function refused(error: unknown): never {
  throw error instanceof PageUnread ? fieldError(['url'], error.message) : error
}
