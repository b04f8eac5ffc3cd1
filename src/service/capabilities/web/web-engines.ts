import { notSetUp, searchFailed } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { shouldRetry } from '#contract/wire/headers.ts'
import type {
  PageCall,
  PageReader,
  ReadPage,
  SearchCall,
  SearchEngine,
  SearchResult,
  Web,
} from '#engines/ports/engine.ts'
import { boundedWait } from '#host/async.ts'
import type { Log } from '#host/log.ts'

/** Throws `notSetUp` where the operator has none. */
export function searchEngineOf({ search }: Pick<Web, 'search'>): SearchEngine {
  if (search) return search
  throw unset('Web search is not set up on this service. Go on without it, or ask its operator for a search engine.')
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

/** Throws `notSetUp` where the operator has none. */
export function pageReaderOf({ pages }: Pick<Web, 'pages'>): PageReader {
  if (pages) return pages
  throw unset('Reading web pages is not set up on this service. Send the text itself, or ask its operator for it.')
}

/** Throws `PageUnread`, the signal's reason, or the reader's own error. */
export async function readPage(reader: PageReader, call: PageCall): Promise<ReadPage> {
  const { signal } = call
  const page = await boundedWait(reader.read(call), { signal })
  signal.throwIfAborted()
  return page
}
