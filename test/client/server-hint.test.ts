import fc from 'fast-check'
import { expect, test } from 'vitest'
import { longestHintMs } from '#client/limits.ts'
import { limitWindow } from '#client/pace/limiter.ts'
import { parseHttpDate, requestsResetAtMs, retryAfterMs, serverHintMs, spread } from '#client/retry/retry-after.ts'

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5)
/** The service's clock is an hour behind. */
const serverNowMs = nowMs - 3_600_000
const date = new Date(serverNowMs).toUTCString()
const reset = 'x-ratelimit-reset-requests'
const left = 'x-ratelimit-remaining-requests'
const tokensLeft = 'x-ratelimit-remaining-tokens'
const tokensReset = 'x-ratelimit-reset-tokens'

type Row = [rule: string, status: number, headers: Record<string, string>, waitMs: number | null]
test.each<Row>([
  ['Retry-After in seconds', 503, { 'retry-after': '7' }, 7_000],
  ['Retry-After in broken seconds, as some services write it', 503, { 'retry-after': '0.5' }, 500],
  [
    'Retry-After as a date of the service’s clock',
    503,
    { date, 'retry-after': new Date(serverNowMs + 9_000).toUTCString() },
    9_000,
  ],
  ['Retry-After as no date that HTTP knows says nothing', 503, { 'retry-after': '2026-01-02' }, null],
  ['a negative Retry-After says nothing', 503, { 'retry-after': '-5' }, null],
  ['the reset of requests, by the service’s clock', 429, { date, [reset]: `${serverNowMs / 1_000 + 20}` }, 20_000],
  ['without its Date, by ours', 429, { [reset]: `${nowMs / 1_000 + 20}` }, 20_000],
  ['the reset in milliseconds', 429, { date, [reset]: `${serverNowMs + 20_000}` }, 20_000],
  ['a reset that is over', 429, { date, [reset]: `${serverNowMs / 1_000 - 20}` }, 0],
  [
    'the reset is a wish of a 429 alone: every answer carries it',
    503,
    { date, [reset]: `${serverNowMs / 1_000 + 20}` },
    null,
  ],
  ['tokens count from now', 429, { [tokensLeft]: '0', [left]: '3', [tokensReset]: '11' }, 11_000],
  ['tokens that are left ask for nothing', 429, { [tokensLeft]: '5', [tokensReset]: '11' }, null],
  ['of two the later', 429, { 'retry-after': '2', date, [reset]: `${serverNowMs / 1_000 + 20}` }, 20_000],
  [
    'where requests are left, what refused has its own word',
    429,
    { 'retry-after': '2', [left]: '3', date, [reset]: `${serverNowMs / 1_000 + 20}` },
    2_000,
  ],
  ['no more than a day', 503, { 'retry-after': '99999999' }, longestHintMs],
])('%s', (_, status, headers, waitMs) => {
  expect(serverHintMs(new Headers(headers), status, nowMs)).toBe(waitMs)
})

test.each([
  ['Sun, 06 Nov 1994 08:49:37 GMT', 784_111_777_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 784_111_777_000],
  ['Sun Nov  6 08:49:37 1994', 784_111_777_000],
  ['Friday, 01-Jan-27 00:00:00 GMT', Date.UTC(2027, 0, 1)],
  ['6 Nov 1994', null],
  ['7.5', null],
  ['', null],
])('RFC 9110 §5.6.7: %j is %j', (text, atMs) => {
  expect(parseHttpDate(text, nowMs)).toBe(atMs)
})

const moment = fc.integer({ min: 0, max: Date.UTC(2099, 11, 31) / 1_000 })
/** Arbitrary header values, and values that look like a number or a date. */
const headerText = fc.oneof(
  fc.string().filter(text => /^[\x20-\x7e]*$/.test(text)),
  fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
  fc.double().map(String),
  moment.map(seconds => new Date(seconds * 1_000).toUTCString()),
)
const names = ['date', 'retry-after', reset, left, tokensLeft, tokensReset, 'x-ratelimit-limit-requests'] as const
const anyHeaders = fc.dictionary(fc.constantFrom(...names), headerText).map(fields => new Headers(fields))

test('a date that HTTP writes is read back, in each of its forms', () => {
  fc.assert(
    fc.property(moment, seconds => {
      const at = new Date(seconds * 1_000)
      expect(parseHttpDate(at.toUTCString(), nowMs)).toBe(at.getTime())
      const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(at.toUTCString()) ?? []
      expect(parseHttpDate(`Xxx ${month} ${day?.replace(/^0/, ' ')} ${time} ${year}`, nowMs)).toBe(at.getTime())
    }),
  )
})

test('whatever a service writes, a hint is no time or one within a day, and never a wait below zero', () => {
  fc.assert(
    fc.property(anyHeaders, fc.constantFrom(429, 500, 503), (headers, status) => {
      for (const waitMs of [serverHintMs(headers, status, nowMs), retryAfterMs(headers, nowMs)]) {
        if (waitMs === null) continue
        expect(waitMs).toBeGreaterThanOrEqual(0)
        expect(waitMs).toBeLessThanOrEqual(longestHintMs)
      }
    }),
    { numRuns: 500 },
  )
})

test('whatever a service writes, a window is none or has figures that can be counted with', () => {
  fc.assert(
    fc.property(anyHeaders, headers => {
      const { seenAtMs, ...figures } = limitWindow(headers, nowMs) ?? { seenAtMs: nowMs }
      expect(seenAtMs).toBe(nowMs)
      for (const figure of Object.values(figures)) {
        expect(figure === null || (Number.isSafeInteger(Math.trunc(figure)) && figure >= 0)).toBe(true)
      }
    }),
    { numRuns: 500 },
  )
})

test('a skew of the service’s clock changes no wait', () => {
  fc.assert(
    fc.property(moment, fc.integer({ min: 0, max: 3_600 }), fc.boolean(), (seconds, waitSeconds, isMs) => {
      const resetAt = seconds + waitSeconds
      const headers = new Headers({
        date: new Date(seconds * 1_000).toUTCString(),
        // Before September 2001 a time in milliseconds has the size of one in seconds.
        [reset]: String(isMs && resetAt > 1e9 ? resetAt * 1_000 : resetAt),
      })
      expect(requestsResetAtMs(headers, nowMs)).toBe(nowMs + waitSeconds * 1_000)
    }),
  )
})

test('callers that wait for a shared time continue up to a tenth later, never earlier', () => {
  expect([spread(10_000, () => 0), spread(10_000, () => 1)]).toEqual([10_000, 11_000])
})
