import { type PageReader, PageUnread, type SearchEngine, type SearchResult, type Web } from '#engines/ports/engine.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import type { Log } from '#host/log.ts'
import type { Line } from '#ledger/store/units.ts'
import type { CountedFetcher } from '../../http/counted-fetcher.ts'
import type { TextModel } from '../../models/model.ts'
import { webLines } from '../web/price-web.ts'
import { pageReaderOf, searchEngineOf } from '../web/web-engines.ts'
import { answeredBy } from './answered-by.ts'
import { decisionTokens, scrapingMs, searchedResults, searchingMs } from './bounds.ts'
import { usageOfCompletion } from './chat-usage.ts'
import { chatLines } from './price-chat.ts'
import { stripThinking } from './strip-thinking.ts'
import { decidedQuery, textOfChoice, type WebPlan } from './web-plan.ts'

/** What was found, and what of it is charged: only what succeeded. */
export interface Findings {
  kind: 'search' | 'pages'
  sources: readonly SearchResult[]
  /** What was asked for and did not come: addresses, or the search. */
  missing: readonly string[]
  lines: readonly Line[]
}

export interface LookUp {
  fetcher: CountedFetcher
  web: Web
  model: TextModel
  log: Log
  signal: AbortSignal
}

/** Never throws: whatever fails is missing, and free. What was found before an abort is still charged. */
export async function lookUp(plan: WebPlan, parts: LookUp): Promise<Findings | null> {
  switch (plan.kind) {
    case 'pages':
      return readPages(pageReaderOf(parts.web), plan.urls, parts)
    case 'search':
      return search(searchEngineOf(parts.web), plan.query, parts)
    case 'auto':
      return searchIfWanted(plan, parts)
  }
}

async function search(engine: SearchEngine, query: string, { signal, log }: LookUp): Promise<Findings> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(searchingMs)])
  try {
    const results = await boundedWait(engine.search({ query, limit: searchedResults, signal: late }), { signal: late })
    const sources = results.slice(0, searchedResults)
    return { kind: 'search', sources, missing: [], lines: webLines({ searches: 1, pages: 0 }) }
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, 'A chat is answered without its web search, which failed.')
    return { kind: 'search', sources: [], missing: [query], lines: [] }
  }
}

/** The question to the model is charged as a chat is, whatever it decides; one without an answer is free. */
async function searchIfWanted(plan: WebPlan & { kind: 'auto' }, parts: LookUp): Promise<Findings | null> {
  const { model, signal, log } = parts
  const { decision: request } = plan
  const asked = { request, engineModel: model.engineModel, maxCompletionTokens: decisionTokens, signal }
  const completion = await answeredBy(model, asked).catch((error: unknown) => {
    if (!signal.aborted)
      log.warn({ err: error }, 'A chat is answered without the search that its model was to decide on.')
    return null
  })
  if (completion === null) return { kind: 'search', sources: [], missing: ['search'], lines: [] }
  const { usage, counted } = usageOfCompletion(request, completion)
  const decided = chatLines(model, usage, counted).map(line => ({
    ...line,
    sku: line.sku.replace('chat.', 'chat.search.'),
  }))
  const query = decidedQuery(stripThinking(textOfChoice(completion)))
  if (query === null) return { kind: 'search', sources: [], missing: [], lines: decided }
  const findings = await search(searchEngineOf(parts.web), query, parts)
  return { ...findings, lines: [...decided, ...findings.lines] }
}

async function readPages(reader: PageReader, urls: readonly string[], parts: LookUp): Promise<Findings> {
  const { signal, log, fetcher } = parts
  const late = AbortSignal.any([signal, AbortSignal.timeout(scrapingMs)])
  const outcomes = await Promise.allSettled(
    urls.map(url => boundedWait(reader.read({ url, fetcher, count: fetcher.count, signal: late }), { signal: late })),
  )
  const sources: SearchResult[] = []
  const missing: string[] = []
  for (const [index, outcome] of outcomes.entries()) {
    const url = urls[index] ?? ''
    if (outcome.status === 'fulfilled') {
      sources.push({ title: outcome.value.title || url, url, content: outcome.value.content, date: '' })
      continue
    }
    missing.push(url)
    if (!(outcome.reason instanceof PageUnread) && !signal.aborted)
      log.warn({ err: outcome.reason }, 'A page of a chat could not be read.')
  }
  return { kind: 'pages', sources, missing, lines: webLines({ searches: 0, pages: sources.length }) }
}
