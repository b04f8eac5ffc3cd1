import type { PageCall, PageReader, ReadPage, SearchCall, SearchEngine, SearchResult } from '../engine.ts'
import { PageUnread } from '../web/page-unread.ts'
import { demoPages } from './pages.ts'

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
