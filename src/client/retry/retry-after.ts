import {
  date,
  remainingRequests,
  remainingTokens,
  resetRequests,
  resetTokens,
  retryAfter,
} from '#contract/wire/headers.ts'
import { longestHintMs, resetJitter } from '../limits.ts'

/** Above this a Unix time is in milliseconds; seconds reach it in the year 33658. */
const millisecondsFrom = 1e12

/**
 * Returns how long a refusal asks us to wait, in milliseconds; null if it does not say. `Retry-After` and the reset of
 * tokens count from now, while the reset of requests is a time on the service's clock. Every answer gives its window's
 * reset, so it is a request to wait only on a 429 (brief §7.2).
 */
export function serverHintMs(headers: Headers, status: number, nowMs: number): number | null {
  const after = retryAfterMs(headers, nowMs)
  const hints =
    status === 429 ? [after, requestsHintMs(headers, nowMs, after !== null), tokensHintMs(headers)] : [after]
  const known = hints.filter(hint => hint !== null)
  return known.length > 0 ? Math.min(longestHintMs, Math.max(0, ...known)) : null
}

/** Adds a random delay, so that clients do not all return at once. */
export const spread = (hintMs: number, random: () => number): number => hintMs * (1 + resetJitter * random())

/** Returns when the request window resets, by our clock; null if the header is absent. */
export function requestsResetAtMs(headers: Headers, nowMs: number): number | null {
  const wait = resetWaitMs(headers, nowMs)
  return wait === null ? null : nowMs + wait
}

/**
 * Reads `Retry-After` alone, as milliseconds from now: whole or fractional seconds, or a date on the service's clock.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const text = headers.get(retryAfter.name)
  if (text === null) return null
  const seconds = retryAfter.parse(text) ?? (/^\d{1,9}\.\d{1,9}$/.test(text) ? Number(text) : null)
  if (seconds !== null) return Math.min(longestHintMs, seconds * 1_000)
  const atMs = parseHttpDate(text, nowMs)
  return atMs === null ? null : Math.min(longestHintMs, Math.max(0, atMs - serverNow(headers, nowMs)))
}

/** If requests are left, something else refused the call, so that refusal's retry time counts. */
function requestsHintMs(headers: Headers, nowMs: number, isToldOtherwise: boolean): number | null {
  const left = remainingRequests.parse(headers.get(remainingRequests.name) ?? '')
  if (left !== null && left > 0 && (isToldOtherwise || isOutOfTokens(headers))) return null
  return resetWaitMs(headers, nowMs)
}

// The reset header uses server time. Subtracting our clock would add its skew to the wait.
function resetWaitMs(headers: Headers, nowMs: number): number | null {
  const reset = resetRequests.parse(headers.get(resetRequests.name) ?? '')
  if (reset === null) return null
  const atMs = reset > millisecondsFrom ? reset : reset * 1_000
  return Math.min(longestHintMs, Math.max(0, atMs - serverNow(headers, nowMs)))
}

function tokensHintMs(headers: Headers): number | null {
  if (!isOutOfTokens(headers)) return null
  const seconds = resetTokens.parse(headers.get(resetTokens.name) ?? '')
  return seconds === null ? null : seconds * 1_000
}

const isOutOfTokens = (headers: Headers): boolean =>
  remainingTokens.parse(headers.get(remainingTokens.name) ?? '') === 0

const serverNow = (headers: Headers, nowMs: number): number => parseHttpDate(headers.get('date') ?? '', nowMs) ?? nowMs

/** The two obsolete date formats of RFC 9110 §5.6.7, which recipients must still accept. */
const rfc850 = /^[A-Z][a-z]{5,8}, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d:\d\d:\d\d) GMT$/
const asctime = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})$/

/** Parses an HTTP date as Unix time in milliseconds; null for anything else, even if JavaScript would accept it. */
export function parseHttpDate(text: string, nowMs: number): number | null {
  const older = rfc850.exec(text)
  if (older) {
    const [, day = '', month = '', year = '', time = ''] = older
    return read(day, month, fullYear(Number(year), nowMs), time)
  }
  const oldest = asctime.exec(text)
  if (oldest) {
    const [, month = '', day = '', time = '', year = ''] = oldest
    return read(day, month, Number(year), time)
  }
  return date.parse(text)
}

/** A two-digit year more than 50 years ahead belongs to the previous century. */
function fullYear(twoFigures: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear()
  const year = now - (now % 100) + twoFigures
  return year > now + 50 ? year - 100 : year
}

function read(day: string, month: string, year: number, time: string): number | null {
  const atMs = Date.parse(`${day.trim()} ${month} ${year} ${time} GMT`)
  return Number.isNaN(atMs) ? null : atMs
}
