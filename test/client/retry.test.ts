import { expect, test } from 'vitest'
import { ClientError } from '#client/client-error.ts'
import { attempts } from '#client/limits.ts'
import { delayOf, retryAtMs, withRetry } from '#client/retry.ts'
import type { CallClass } from '#client/retry-table.ts'
import {
  inferenceFailed,
  insufficientBalance,
  invalidRequest,
  modelOffline,
  rateLimitExceeded,
  tooManyFailures,
  unknownError,
} from '#contract/errors.ts'
import { manualClock } from './manual-clock.ts'

const unreachable = new ClientError('unreachable', 'x', { wasSent: false })
const lost = new ClientError('no-answer', 'x', { wasSent: true })
const breakerOpen = new ClientError('breaker-open', 'x', { wasSent: false, retryAtMs: 1 })

const errors = {
  unreachable,
  lost,
  429: rateLimitExceeded(),
  503: modelOffline(),
  500: unknownError(),
  'failed work': inferenceFailed(),
  400: invalidRequest({ error: 'x' }),
  402: insufficientBalance(),
  breakerOpen,
}

type Row = [CallClass, `${keyof typeof errors}`, 'again' | 'once']
const rows: Row[] = [
  ['free', 'unreachable', 'again'],
  ['free', 'lost', 'again'],
  ['free', '429', 'again'],
  ['free', '503', 'again'],
  ['free', '500', 'again'],
  ['free', 'failed work', 'once'],
  ['free', '400', 'once'],
  ['free', 'breakerOpen', 'once'],
  ['paid', 'unreachable', 'again'],
  ['paid', 'lost', 'once'],
  ['paid', '429', 'again'],
  ['paid', '503', 'again'],
  ['paid', '500', 'once'],
  ['paid', '402', 'once'],
  ['payment', 'unreachable', 'once'],
  ['payment', 'lost', 'once'],
  ['payment', '429', 'once'],
]

const pauses = () => {
  const waited: number[] = []
  return { waited, pause: async (ms: number) => void waited.push(ms) }
}

test.each(rows)('a %s call after %s is sent %s', async (callClass, name, expected) => {
  let sent = 0
  const run = withRetry(
    async () => {
      sent++
      throw errors[name]
    },
    { callClass, clock: manualClock(), pause: pauses().pause },
  )
  await expect(run).rejects.toBe(errors[name])
  expect(sent).toBe(expected === 'again' ? attempts : 1)
})

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5)
const serverNow = nowMs - 3_600_000
const date = new Date(serverNow).toUTCString()

test.each<[string, Record<string, string>, number]>([
  ['Retry-After in seconds', { 'retry-after': '7' }, 7_000],
  [
    'Retry-After as a date, by the server’s clock',
    { date, 'retry-after': new Date(serverNow + 9_000).toUTCString() },
    9_000,
  ],
  [
    'the reset of requests, by the server’s clock',
    { date, 'x-ratelimit-reset-requests': `${serverNow / 1_000 + 20}` },
    20_000,
  ],
  ['the reset in milliseconds', { date, 'x-ratelimit-reset-requests': `${serverNow + 20_000}` }, 20_000],
  ['a reset that is over', { date, 'x-ratelimit-reset-requests': `${serverNow / 1_000 - 20}` }, 0],
  [
    'the reset of tokens counts from now, and only when they are gone',
    { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-remaining-requests': '3', 'x-ratelimit-reset-tokens': '11' },
    11_000,
  ],
  ['the later of two', { 'retry-after': '2', date, 'x-ratelimit-reset-requests': `${serverNow / 1_000 + 20}` }, 20_000],
])('a 429 waits for %s', (_, headers, waitMs) => {
  expect(retryAtMs(rateLimitExceeded(headers), nowMs)).toBe(nowMs + waitMs)
})

test('a block without a time is 30 s long', () => {
  expect(retryAtMs(tooManyFailures(), nowMs)).toBe(nowMs + 30_000)
})

test('a wait beyond the budget fails at once, with its time', async () => {
  const { waited, pause } = pauses()
  const error = rateLimitExceeded({ 'retry-after': '100' })
  const run = withRetry(() => Promise.reject(error), {
    callClass: 'free',
    clock: manualClock(),
    budgetMs: 99_000,
    pause,
  })
  await expect(run).rejects.toBe(error)
  expect(waited).toEqual([])
})

test('without a hint the wait is full jitter, doubled to its cap; with one it is never shorter than it', () => {
  const wait = (attempt: number, random: number) => delayOf(errors[500], attempt, nowMs, () => random)
  expect([wait(1, 1), wait(2, 1), wait(3, 1), wait(1, 0), wait(9, 1)]).toEqual([500, 1_000, 2_000, 0, 30_000])
  expect(delayOf(rateLimitExceeded({ 'retry-after': '4' }), 1, nowMs, () => 0)).toBe(4_000)
  expect(delayOf(rateLimitExceeded({ 'retry-after': '4' }), 1, nowMs, () => 1)).toBe(4_400)
})

test('an abort ends a wait', async () => {
  const stop = new AbortController()
  const run = withRetry(() => Promise.reject(rateLimitExceeded({ 'retry-after': '30' })), {
    callClass: 'free',
    clock: manualClock(),
    signal: stop.signal,
  })
  setTimeout(() => stop.abort(), 20)
  await expect(run).rejects.toThrow(/abort/i)
})
