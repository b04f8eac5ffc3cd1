import {
  type PageCall,
  type PageReader,
  PageUnread,
  type ReadPage,
  type SearchCall,
  type SearchEngine,
  type SearchResult,
} from '../ports/engine.ts'

const notice = 'This is a demonstration search: it knows a few pages about farebox, and nothing of the web.'

/** A web of a few pages about farebox itself, searched by words; no other address is looked at. */
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
      `is not fetched by a demonstration; allowed values: ${demoPages.map(each => each.url).join(', ')}`,
    )
  }
}

/** Short words are in every page. */
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
  /** Below a name that is reserved for examples, so that it leads nowhere. */
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

/** In short what the documentation of this package says at length. */
export const demoPages: readonly DemoPage[] = [
  page(
    'wallet',
    'The wallet of farebox',
    'The wallet pays one service in USDC on Base or on Solana, by itself within caps that no tool call can raise, and asks a person for the rest. Unless set otherwise one payment is 5 USD at most, all payments of 24 hours are 10 USD, and a call above 1 USD is asked for.',
  ),
  page(
    'payments',
    'Payments of farebox',
    'Credit is bought with a top-up by x402: the first request is answered 402 with the payment options, and the second carries a signed payment of 5 USD or more. A payment is credited once, however often it is sent.',
  ),
  page(
    'charges',
    'Charges of farebox',
    'Credit is held before an engine runs and charged when it has ended, so a call that fails costs nothing. A search of the web and a page that is read cost 0.01 USD each; the rest is priced by the token, the image or the second.',
  ),
  page(
    'idempotency',
    'Idempotency keys of farebox',
    'Every call that costs takes an Idempotency-Key. The same key with the same request brings the first answer again and is not charged again; with another request it is refused.',
  ),
  page(
    'receipts',
    'Receipts of farebox',
    'Every charge has a receipt that the service signs with Ed25519: the lines of the charge with units and prices, and what was paid from which credit. The agent keeps receipts and checks them.',
  ),
  page(
    'operations',
    'Running farebox',
    'The ledger is in SQLite or in PostgreSQL, append-only and double entry; farebox ledger audit recomputes it. The liveness probe is /healthz, the readiness probe /readyz.',
  ),
]
