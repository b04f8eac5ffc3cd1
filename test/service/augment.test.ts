import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebPage, WebSearchResults } from '#contract/operations/web.ts'
import { DemoWeb } from '#engines/demo/web.ts'
import {
  type PageCall,
  type PageReader,
  PageUnread,
  type SearchCall,
  type SearchEngine,
  type SearchResult,
} from '#engines/ports/engine.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

const results: SearchResult[] = [1, 2, 3].map(number => ({
  title: `Page ${number}`,
  url: `https://example.com/${number}`,
  content: `What page ${number} says.`,
  date: '',
}))

/** Says what a test wants it to say, and remembers what it was asked. */
class ScriptedWeb implements SearchEngine, PageReader {
  asked: (SearchCall | PageCall)[] = []
  failure: Error | null = null

  async search(call: SearchCall) {
    return this.#answered(call, results)
  }

  async read(call: PageCall) {
    return this.#answered(call, { title: 'A page', content: '# A page' })
  }

  #answered<Value>(call: SearchCall | PageCall, value: Value): Value {
    this.asked.push(call)
    if (this.failure) throw this.failure
    return value
  }
}

const web = new ScriptedWeb()
let service: OpenedService
let bare: OpenedService
beforeAll(async () => {
  service = await openService({ search: web, pages: web })
  bare = await openService()
})
beforeEach(() => {
  web.asked = []
  web.failure = null
})
afterAll(async () => {
  await closeSound(service)
  await bare.close()
})

async function charged(path: string, body: object, usd = 1) {
  const account = await service.key(usd)
  const before = await service.store.read.selectFrom('entry').select('id').execute()
  const response = await service.post(path, body, account)
  const entries = await service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()
  const known = new Set(before.map(({ id }) => id))
  const lines = entries.filter(({ id }) => !known.has(id)).map(({ sku, units, amount }) => [sku, units, amount])
  return { status: response.status, answer: (await response.json()) as Record<string, unknown>, lines }
}

describe('§15 POST /augment/search', () => {
  test('a search costs 0.01 USD, and answers what the engine found', async () => {
    const { status, answer, lines } = await charged('/augment/search', { query: 'fares', limit: 2 })
    expect(status).toBe(200)
    expect(WebSearchResults.parse(answer)).toEqual({ query: 'fares', results: results.slice(0, 2) })
    expect(lines).toEqual([['web.search', 1n, 10_000n]])
    expect(web.asked[0]).toMatchObject({ query: 'fares', limit: 2 })
  })

  test('ten results are requested by default, from the index that the caller names', async () => {
    await charged('/augment/search', { query: 'fares', search_provider: 'brave', unknown: 'member' })
    expect(web.asked[0]).toMatchObject({ limit: 10, provider: 'brave' })
  })

  test('one that fails is free, and says nothing of its engine', async () => {
    web.failure = new Error('a word of the engine')
    const { status, answer, lines } = await charged('/augment/search', { query: 'fares' })
    expect([status, lines]).toEqual([500, []])
    expect(answer).toEqual({ error: 'The web search failed, and nothing was charged. Please try again later.' })
  })

  test('credit for less than a search is not enough', async () => {
    const { status, lines } = await charged('/augment/search', { query: 'fares' }, 0.009)
    expect([status, lines, web.asked]).toEqual([402, [], []])
  })
})

describe('§15 POST /augment/scrape', () => {
  test('a page costs 0.01 USD and comes as Markdown', async () => {
    const { status, answer, lines } = await charged('/augment/scrape', { url: 'https://example.com/1' })
    expect(status).toBe(200)
    expect(WebPage.parse(answer)).toEqual({ url: 'https://example.com/1', content: '# A page', format: 'markdown' })
    expect(lines).toEqual([['web.scrape', 1n, 10_000n]])
  })

  test('one that cannot be read is free, and says why', async () => {
    web.failure = new PageUnread('could not be read: its server answered 404')
    const { status, answer, lines } = await charged('/augment/scrape', { url: 'https://example.com/1' })
    expect([status, lines]).toEqual([400, []])
    expect(answer).toMatchObject({
      details: { url: { _errors: ['could not be read: its server answered 404'] } },
    })
  })
})

test.each([
  ['/augment/search', {}],
  ['/augment/search', { query: '' }],
  ['/augment/search', { query: 'x'.repeat(401) }],
  ['/augment/search', { query: 'fares', limit: 0 }],
  ['/augment/search', { query: 'fares', limit: 21 }],
  ['/augment/search', { query: 'fares', limit: 1.5 }],
  ['/augment/search', { query: 'fares', search_provider: 'other' }],
  ['/augment/scrape', {}],
  ['/augment/scrape', { url: 7 }],
])('%s refuses %j without a charge', async (path, body) => {
  const { status, answer, lines } = await charged(path, body)
  expect([status, lines, web.asked]).toEqual([400, [], []])
  expect(answer).toHaveProperty('issues')
})

test.each([
  ['/augment/search', { query: 'fares' }, 'This service has no web search.'],
  ['/augment/scrape', { url: 'https://example.com/' }, 'This service cannot read web pages.'],
])('%s without an engine says so, and that to repeat it is of no use', async (path, body, words) => {
  const response = await bare.post(path, body, await bare.key(1))
  const { error } = (await response.json()) as { error: string }
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, 'false'])
  expect(error).toContain(words)
})

describe('the demonstration', () => {
  const demo = new DemoWeb()
  const { signal } = new AbortController()

  test('finds pages about farebox, says that it is one, and reads what it found', async () => {
    const [first] = await demo.search({ query: 'What are the caps of the wallet?', limit: 1, signal })
    expect(first).toMatchObject({
      url: 'https://farebox.example/docs/wallet',
      content: expect.stringContaining('demonstration'),
    })
    const page = await demo.read({ url: first?.url ?? '', signal })
    expect(page.content).toMatch(/^# The farebox wallet\n\nThis is a demonstration/)
  })

  test('finds only its own pages, and fetches nothing', async () => {
    expect(await demo.search({ query: 'weather in Lisbon', limit: 10, signal })).toEqual([])
    await expect(demo.read({ url: 'https://example.com/', signal })).rejects.toThrow(
      'is not fetched by the demonstration',
    )
  })
})
