import { FetchRefused } from '../fetch/fetch-refused.ts'
import { FirstUseFetcher } from '../fetch/first-use-fetcher.ts'
import type { FetchedFile } from '../fetch/guarded-fetcher.ts'
import type { PageCall, PageReader, ReadPage } from '../ports/engine.ts'
import * as bounds from './bounds.ts'
import { PageConverter } from './page-converter.ts'
import { PageUnread } from './page-unread.ts'

export interface WebPagesOptions {
  /** `host:port` that may be read although it is not of the public web, instead of those of the service. */
  privateHosts?: readonly string[]
  convertMs?: number
}

/** Pages of the public web as Markdown; takes the packages `defuddle` and `linkedom`. */
export class WebPages implements PageReader {
  /** For hosts of its own, and where it is asked by nobody who has one. */
  readonly #own: FirstUseFetcher
  readonly #hasHosts: boolean
  readonly #converter: PageConverter

  constructor({ privateHosts, convertMs }: WebPagesOptions = {}) {
    this.#own = new FirstUseFetcher(privateHosts ? { privateHosts } : {})
    this.#hasHosts = privateHosts !== undefined
    this.#converter = new PageConverter(convertMs === undefined ? {} : { timeoutMs: convertMs })
  }

  async read({ url, fetcher, signal }: PageCall): Promise<ReadPage> {
    const { mostBytes, timeoutMs } = { mostBytes: bounds.pageBytes, timeoutMs: bounds.pageFetchMs }
    const way = this.#hasHosts ? this.#own : (fetcher ?? this.#own)
    const file = await way.fetch({ url, accept, mostBytes, timeoutMs, signal }).catch(unread)
    const text = textOf(file)
    if (isText.has(file.mimeType)) {
      if (!text.trim()) throw new PageUnread('has no text that could be read')
      return { title: '', content: cut(text) }
    }
    if (!isMarkup.has(file.mimeType))
      throw new PageUnread('is no page: its server says that it is neither HTML nor text')
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

function unread(error: unknown): never {
  if (!(error instanceof FetchRefused)) throw error
  throw new PageUnread(error.reason === 'address' ? error.message : `could not be read: ${error.message}`)
}

/** By the charset that its server names or its head does; what no decoder knows is taken for UTF-8. */
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
  text.length <= bounds.pageCharacters
    ? text
    : `${text.slice(0, bounds.pageCharacters)}\n\n(The page goes on; the rest of it was left out.)`
