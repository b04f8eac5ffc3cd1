import {
  type PageCall,
  type PageReader,
  PageUnread,
  type ReadPage,
  type SearchCall,
  type SearchEngine,
  type SearchResult,
} from '../ports/engine.ts'

const notice = 'This is a demonstration search: it only finds a few pages about farebox.'

/** A web of a few pages about farebox itself, searched by words; no other URL is fetched. */
export class DemoWeb implements SearchEngine, PageReader {
  async search({ query, limit }: SearchCall): Promise<SearchResult[]> {
    const asked = wordsOf(query)
    return demoPages
      .map(page => ({ page, hits: [...wordsOf(`${page.title} ${page.text}`)].filter(word => asked.has(word)).length }))
      .filter(({ hits }) => hits > 0)
      .sort((one, other) => other.hits - one.hits)
      .slice(0, limit)
      .map(({ page }) => ({ title: page.title, url: page.url, content: `${notice} ${page.text}`, date: page.date }))
  }

  async read({ url }: PageCall): Promise<ReadPage> {
    const page = demoPages.find(each => each.url === url)
    if (page) return { title: page.title, content: `# ${page.title}\n\n${notice}\n\n${page.text}` }
    throw new PageUnread(
      `is not fetched by the demonstration; allowed values: ${demoPages.map(each => each.url).join(', ')}`,
    )
  }
}

/** Ignores short words, which occur in every page. */
const wordsOf = (text: string): ReadonlySet<string> =>
  new Set((text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter(word => !everywhere.has(word)))

const everywhere: ReadonlySet<string> = new Set([
  'the',
  'and',
  'for',
  'what',
  'how',
  'does',
  'with',
  'that',
  'are',
  'can',
  'who',
])

export interface DemoPage {
  /** Below a domain name that is reserved for examples, so that it leads nowhere. */
  url: string
  title: string
  text: string
  date: string
}

const page = (name: string, title: string, text: string): DemoPage => ({
  url: `https://farebox.example/docs/${name}`,
  title,
  text,
  date: '2026-11-22',
})

/** A short version of this package's documentation. */
export const demoPages: readonly DemoPage[] = [
  page(
    'wallet',
    'The farebox wallet',
    'The wallet pays one service in USDC on Base or Solana. It pays within caps that no tool call can raise, and asks for the user’s approval above a threshold. By default, one payment is at most 5 USD, all payments in 24 hours are at most 10 USD, and a call above 1 USD needs approval. When a call needs credit, the wallet tops up by 5 USD without asking, within these caps.',
  ),
  page(
    'payments',
    'Payments in farebox',
    'Credit is bought with a top-up by x402: the first request is answered 402 with the payment options, and the second carries a signed payment of 5 USD or more. A payment is credited once, however often it is sent.',
  ),
  page(
    'charges',
    'Charges in farebox',
    'Credit is held before an engine runs and charged when it is done, so a call that fails costs nothing. A web search and a web page cost 0.01 USD each; other calls are priced by the token, the image or the second.',
  ),
  page(
    'idempotency',
    'Idempotency keys in farebox',
    'Every paid call accepts an Idempotency-Key. Repeating a request with the same key returns the first answer and is not charged again; a different request with that key is refused.',
  ),
  page(
    'receipts',
    'Receipts in farebox',
    'Every charge has a receipt that the service signs with Ed25519. It lists the lines of the charge with units and prices, and which credit paid for them. The agent keeps and verifies receipts.',
  ),
  page(
    'operations',
    'Running farebox',
    'The ledger is in SQLite or in PostgreSQL, append-only and double entry; farebox ledger audit recomputes it. The liveness probe is /healthz, the readiness probe /readyz.',
  ),
]
