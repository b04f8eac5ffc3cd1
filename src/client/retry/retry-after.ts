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
 * How long a refusal asks to wait, in milliseconds; null where it says nothing. `Retry-After` and tokens count from now,
 * the reset of requests is a time of the service's own clock. Every answer names its window, so the reset is a wish only
 * of a 429 (brief §7.2).
 */
export function serverHintMs(headers: Headers, status: number, nowMs: number): number | null {
  const after = retryAfterMs(headers, nowMs)
  const hints =
    status === 429 ? [after, requestsHintMs(headers, nowMs, after !== null), tokensHintMs(headers)] : [after]
  const known = hints.filter(hint => hint !== null)
  return known.length > 0 ? Math.min(longestHintMs, Math.max(0, ...known)) : null
}

/** A little later than the shared moment, so that not all clients come back in one instant. */
export const spread = (hintMs: number, random: () => number): number => hintMs * (1 + resetJitter * random())

/** When the window of requests resets, in our own clock; null where the header is absent. */
export function requestsResetAtMs(headers: Headers, nowMs: number): number | null {
  const wait = resetWaitMs(headers, nowMs)
  return wait === null ? null : nowMs + wait
}

/** `Retry-After` alone, as milliseconds from now: whole or broken seconds, or a date of the service's clock. */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const text = headers.get(retryAfter.name)
  if (text === null) return null
  const seconds = retryAfter.parse(text) ?? (/^\d{1,9}\.\d{1,9}$/.test(text) ? Number(text) : null)
  if (seconds !== null) return Math.min(longestHintMs, seconds * 1_000)
  const atMs = parseHttpDate(text, nowMs)
  return atMs === null ? null : Math.min(longestHintMs, Math.max(0, atMs - serverNow(headers, nowMs)))
}

/** Where requests are left, something else refused, and its own retry time counts instead. */
function requestsHintMs(headers: Headers, nowMs: number, isToldOtherwise: boolean): number | null {
  const left = remainingRequests.parse(headers.get(remainingRequests.name) ?? '')
  if (left !== null && left > 0 && (isToldOtherwise || isOutOfTokens(headers))) return null
  return resetWaitMs(headers, nowMs)
}

// The reset header counts in server time. Subtracting our clock would wait for a skew that is not ours.
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

/** The two older forms of RFC 9110 §5.6.7, which a recipient still has to know. */
const rfc850 = /^[A-Z][a-z]{5,8}, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d:\d\d:\d\d) GMT$/
const asctime = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})$/

/** An HTTP date as Unix time in milliseconds; null for everything else, whatever JavaScript would make of it. */
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

/** Two figures that would lie more than 50 years ahead are of the century before. */
function fullYear(twoFigures: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear()
  const year = now - (now % 100) + twoFigures
  return year > now + 50 ? year - 100 : year
}

function read(day: string, month: string, year: number, time: string): number | null {
  const atMs = Date.parse(`${day.trim()} ${month} ${year} ${time} GMT`)
  return Number.isNaN(atMs) ? null : atMs
}
