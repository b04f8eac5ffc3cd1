import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SearxngSearch } from '#engines/web/web-pages.ts'

/** What a server of SearXNG sends for `format=json`, with members that are not read here. */
const answer = {
  query: 'fares',
  number_of_results: 0,
  results: [
    {
      url: 'https://example.com/a',
      title: 'A',
      content: 'About A.',
      publishedDate: '2026-11-20T08:00:00',
      engine: 'brave',
      template: 'default.html',
      parsed_url: ['https', 'example.com', '/a', '', '', ''],
      engines: ['brave'],
      positions: [1],
      score: 1.0,
      category: 'general',
    },
    { url: 'https://example.com/a', title: 'A again', content: 'Twice.' },
    { url: 'javascript:alert(1)', title: 'No page' },
    { url: 'https://example.com/b', title: 'B', content: null, publishedDate: null },
    { url: 'https://example.com/c' },
    { url: 'https://example.com/d', title: 'D', content: 'x'.repeat(5_000) },
  ],
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: [],
  unresponsive_engines: [],
}

const asked: string[] = []
let give: (response: ServerResponse) => void
const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  give(response)
})
let engine: SearxngSearch
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  engine = new SearxngSearch({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/under/` })
})
afterAll(async () => {
  await engine.close()
  await new Promise<void>(resolve => server.close(() => resolve()))
})
beforeEach(() => {
  asked.length = 0
  give = response => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
})

const { signal } = new AbortController()

test('results in their order, each page once, with what the contract has', async () => {
  const found = await engine.search({ query: 'fares & zones', limit: 10, provider: 'brave', signal })
  expect(found).toEqual([
    { url: 'https://example.com/a', title: 'A', content: 'About A.', date: '2026-11-20T08:00:00' },
    { url: 'https://example.com/b', title: 'B', content: '', date: '' },
    { url: 'https://example.com/d', title: 'D', content: 'x'.repeat(4_000), date: '' },
  ])
  expect(asked).toEqual(['/under/search?q=fares+%26+zones&format=json&engines=brave'])
  expect(await engine.search({ query: 'fares', limit: 1, signal })).toHaveLength(1)
})

test.each<[string, (response: ServerResponse) => void, string]>([
  [
    'json is not allowed',
    response => response.writeHead(403).end(),
    'Its settings must list json under search.formats.',
  ],
  ['it is busy', response => response.writeHead(429).end(), 'SearXNG answered 429.'],
  ['it sends a page', response => response.end('<html>'), 'JSON'],
  ['it sends something else', response => response.end('{"results":7}'), 'results'],
  ['it is too much', response => response.end('x'.repeat(5 * 1024 * 1024)), 'too large'],
])('fails where %s', async (_what, given, words) => {
  give = given
  await expect(engine.search({ query: 'fares', limit: 10, signal })).rejects.toThrow(words)
})

test.each(['ftp://127.0.0.1', 'http://user:secret@127.0.0.1', 'nowhere'])('refuses the address %s', baseUrl => {
  expect(() => new SearxngSearch({ baseUrl })).toThrow('must be http or https')
})
