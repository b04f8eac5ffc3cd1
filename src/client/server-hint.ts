import { remainingRequests, remainingTokens, resetRequests, resetTokens, retryAfter } from '#contract/headers.ts'
import { resetJitter } from './limits.ts'

/** Above this a Unix time is in milliseconds; seconds reach it in the year 33658. */
const millisecondsFrom = 1e12

/**
 * How long the service asks to wait, in milliseconds; null where it says nothing. Both of its clocks are read: `Retry-After`
 * and tokens count from now, the reset of requests is a time of the service's own clock.
 */
export function serverHintMs(headers: Headers, nowMs: number): number | null {
  const serverNowMs = timeOf(headers.get('date')) ?? nowMs
  const hints = [
    retryAfterMs(headers.get(retryAfter.name), serverNowMs),
    requestsResetMs(headers, serverNowMs),
    tokensResetMs(headers),
  ].filter(hint => hint !== null)
  return hints.length > 0 ? Math.max(0, ...hints) : null
}

/** A little later than the shared moment, so that not all clients come back in one instant. */
export const spread = (hintMs: number, random: () => number): number => hintMs * (1 + resetJitter * random())

/** When the window of requests resets, in our own clock; null where the header is absent. */
export function requestsResetAtMs(headers: Headers, nowMs: number): number | null {
  const wait = resetWaitMs(headers, timeOf(headers.get('date')) ?? nowMs)
  return wait === null ? null : nowMs + wait
}

function retryAfterMs(text: string | null, serverNowMs: number): number | null {
  if (text === null) return null
  const seconds = retryAfter.parse(text)
  if (seconds !== null) return seconds * 1_000
  const atMs = timeOf(text)
  return atMs === null ? null : atMs - serverNowMs
}

/** Of a refusal that tokens caused, the requests' reset says nothing. */
function requestsResetMs(headers: Headers, serverNowMs: number): number | null {
  const left = remainingRequests.parse(headers.get(remainingRequests.name) ?? '')
  if (left !== null && left > 0 && isOutOfTokens(headers)) return null
  return resetWaitMs(headers, serverNowMs)
}

// The reset header counts in server time. Subtracting our clock would wait for a skew that is not ours.
function resetWaitMs(headers: Headers, serverNowMs: number): number | null {
  const reset = resetRequests.parse(headers.get(resetRequests.name) ?? '')
  if (reset === null) return null
  return Math.max(0, (reset > millisecondsFrom ? reset : reset * 1_000) - serverNowMs)
}

function tokensResetMs(headers: Headers): number | null {
  if (!isOutOfTokens(headers)) return null
  const seconds = resetTokens.parse(headers.get(resetTokens.name) ?? '')
  return seconds === null ? null : seconds * 1_000
}

const isOutOfTokens = (headers: Headers): boolean =>
  remainingTokens.parse(headers.get(remainingTokens.name) ?? '') === 0

function timeOf(text: string | null): number | null {
  const time = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? null : time
}
