import { expect, test } from 'vitest'
import type { LimitDimension } from '#access/limits/limit-rules.ts'
import { givenBackHeaders, limitHeaders, takenHeaders } from '#access/limits/limiter.ts'
import { Windows } from '#access/limits/windows.ts'
import { retryAfterHeaders } from '#contract/errors/retry-after.ts'
import { noonMs } from './manual-clock.ts'

const user: LimitDimension = { key: 'user', type: 'user', requestsPerMinute: 50, tokensPerMinute: 1000 }
const key: LimitDimension = { key: 'key', type: 'api_key', requestsPerMinute: 3 }
const nowMs = noonMs + 12_300
const endSeconds = `${noonMs / 1000 + 60}`

const headersOf = async (windows: Windows, dimensions: LimitDimension[], tokens = 0) =>
  takenHeaders(await windows.take(dimensions, tokens, nowMs), nowMs)

test('§8.4: all seven, requests reset at a Unix second, tokens in seconds from now', async () => {
  expect(await headersOf(new Windows(), [user], 250)).toEqual({
    'x-ratelimit-limit-requests': '50',
    'x-ratelimit-remaining-requests': '49',
    'x-ratelimit-reset-requests': endSeconds,
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '750',
    'x-ratelimit-reset-tokens': '48',
    'x-ratelimit-type': 'user',
  })
})

test('the tightest dimension shows', async () => {
  expect(await headersOf(new Windows(), [user, key])).toMatchObject({
    'x-ratelimit-limit-requests': '3',
    'x-ratelimit-remaining-requests': '2',
    'x-ratelimit-remaining-tokens': '1000',
    'x-ratelimit-type': 'api_key',
  })
})

test('§7.2: a refusal for tokens alone says by the requests header when to try again in a moment, and which limit it was', async () => {
  const windows = new Windows()
  await headersOf(windows, [key, user], 900)
  const refused = await headersOf(windows, [key, user], 900)
  expect(refused).toMatchObject({
    'x-ratelimit-remaining-requests': '2',
    'x-ratelimit-remaining-tokens': '100',
    'x-ratelimit-reset-requests': endSeconds,
    'x-ratelimit-type': 'user',
    'retry-after': '48',
  })
})

test('an answer within the limits has no Retry-After', async () => {
  expect(await headersOf(new Windows(), [user])).not.toHaveProperty('retry-after')
})

test('without a dimension there is nothing to tell', async () => {
  expect(await headersOf(new Windows(), [])).toEqual({})
})

test('another refusal tells its own time, rounded up', () => {
  expect(retryAfterHeaders(noonMs + 30_001, noonMs, 'user')).toEqual({
    'x-ratelimit-reset-requests': `${noonMs / 1000 + 31}`,
    'retry-after': '31',
    'x-ratelimit-type': 'user',
  })
})

test('what is only read shows the same figures, and counts nothing', async () => {
  const windows = new Windows()
  await windows.take([user, key], 250, nowMs)
  const read = async () => limitHeaders(await windows.read([user, key], nowMs), nowMs)
  expect(await read()).toMatchObject({ 'x-ratelimit-remaining-requests': '2', 'x-ratelimit-remaining-tokens': '750' })
  expect(await read()).toMatchObject({ 'x-ratelimit-remaining-requests': '2', 'x-ratelimit-remaining-tokens': '750' })
})

test.each([
  [250, '1000'],
  // More than a whole minute has was counted as all of it.
  [4_000, '1000'],
])('tokens that were given back show: %s', async (tokens, remaining) => {
  const taken = await new Windows().take([user], tokens, nowMs)
  expect(givenBackHeaders(taken, nowMs)['x-ratelimit-remaining-tokens']).toBe(remaining)
})
