import type { PageCall, PageReader, ReadPage, Web } from '#engines/ports/engine.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import { unset } from './search-web.ts'

/** Throws `notSetUp` where the operator has none. */
export function pageReaderOf({ pages }: Pick<Web, 'pages'>): PageReader {
  if (pages) return pages
  throw unset('Reading web pages is not set up on this service. Send the text itself, or ask its operator for it.')
}

/** Throws `PageUnread`, the signal's reason, or whatever the reader is at fault for. */
export async function readPage(reader: PageReader, call: PageCall): Promise<ReadPage> {
  const { signal } = call
  const page = await boundedWait(reader.read(call), { signal })
  signal.throwIfAborted()
  return page
}
