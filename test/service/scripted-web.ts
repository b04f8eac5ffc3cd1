import {
  type PageCall,
  type PageReader,
  PageUnread,
  type SearchCall,
  type SearchEngine,
  type SearchResult,
} from '#engines/ports/engine.ts'

export const found: SearchResult[] = [
  { title: 'Fares', url: 'https://example.com/fares', content: 'A ride is 2 USD.', date: '2026-11-20' },
  { title: 'Zones', url: 'https://example.com/zones', content: 'There are two zones.', date: '' },
]

/** A web that says what a test wants, and remembers what it was asked. */
export class ScriptedWeb implements SearchEngine, PageReader {
  searched: SearchCall[] = []
  read_: string[] = []
  failure: Error | null = null
  results = found

  async search(call: SearchCall) {
    this.searched.push(call)
    if (this.failure) throw this.failure
    return this.results
  }

  async read({ url }: PageCall) {
    this.read_.push(url)
    if (this.failure || url.includes('broken')) throw new PageUnread('could not be read')
    return { title: `Title of ${url}`, content: `Text of ${url}` }
  }
}
