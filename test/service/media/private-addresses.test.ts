import { afterAll, expect, test } from 'vitest'
import { FetchRefused } from '#engines/fetch/fetcher.ts'
import { GuardedFetcher } from '#engines/fetch/guarded-fetcher.ts'
import { privateSpellings } from './private-spellings.ts'

const names: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'neighbour.example': ['10.0.0.7'],
  'both.example': ['93.184.215.14', '127.0.0.1'],
  'six.example': ['::1'],
  'nothing.example': [],
  'files.localhost': ['127.0.0.1'],
  localhost: ['127.0.0.1', '::1'],
  'localhost.': ['127.0.0.1'],
}

const fetcher = new GuardedFetcher({
  resolve: async host => {
    return (names[host] ?? ['127.0.0.1']).map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  },
})
afterAll(() => fetcher.close())

const problemOf = (url: string) =>
  fetcher.fetch({ url, mostBytes: 1_000, timeoutMs: 30_000, signal: new AbortController().signal }).then(
    () => 'fetched',
    error => (error instanceof FetchRefused ? error.reason : error),
  )

test('every known way to write a private address', () => {
  expect(privateSpellings.length).toBeGreaterThanOrEqual(180)
  expect(new Set(privateSpellings.map(([, url]) => url)).size).toBe(privateSpellings.length)
})

/** `address` is said before any connection is made; whatever was tried would say `unreachable` or `too_late`. */
test.each(privateSpellings)('G1: %s', async (_how, url) => {
  expect(await problemOf(url)).toBe('address')
})

test('G1: a name server that changes its mind is asked once, and its second answer counts for nothing', async () => {
  const answers = ['127.0.0.1', '93.184.215.14']
  const asked: string[] = []
  const turning = new GuardedFetcher({
    resolve: async host => {
      asked.push(host)
      return [{ address: answers.shift() ?? '127.0.0.1', family: 4 }]
    },
  })
  const signal = new AbortController().signal
  const fetching = turning.fetch({ url: 'http://turn.example/', mostBytes: 1, timeoutMs: 30_000, signal })
  await expect(fetching).rejects.toMatchObject({ reason: 'address' })
  expect(asked).toEqual(['turn.example'])
  await turning.close()
})
