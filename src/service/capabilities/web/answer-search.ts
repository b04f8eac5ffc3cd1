import type { WebSearchRequest, WebSearchResults } from '#contract/operations/web.ts'
import { type Call, type JsonReply, json } from '../../http/call.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { webLines, webPrice } from './price-web.ts'
import { searchEngineOf, searchWeb } from './search-web.ts'

const use = { searches: 1, pages: 0 }

/** One search, whatever it finds. One that fails is free. */
export async function answerSearch(call: Call, body: WebSearchRequest, service: Service): Promise<JsonReply> {
  const engine = searchEngineOf(service.web)
  const { query, limit, search_provider: provider } = body
  return sell(call, { model: null, amount: webPrice(use) }, service, async () => {
    const asked = { query, limit, ...(provider === undefined ? {} : { provider }), signal: call.signal }
    const results = await searchWeb(engine, asked, service.log)
    const reply = json({ query, results } satisfies WebSearchResults)
    return { value: reply, lines: webLines(use), alsoCommit: () => call.keep(() => reply) }
  })
}
