import { limitRequests, limitTokens, remainingRequests, remainingTokens, resetTokens } from '#contract/wire/headers.ts'
import { longestHintMs } from '../limits.ts'
import { requestsResetAtMs } from '../retry/server-hint.ts'

/** What an answer said about a caller's window. Null where it did not say. */
export interface LimitWindow {
  requestsLimit: number | null
  requestsLeft: number | null
  /** By our clock. */
  requestsResetAtMs: number | null
  tokensLimit: number | null
  tokensLeft: number | null
  tokensResetAtMs: number | null
  seenAtMs: number
}

/** Reads the limit headers of an answer (brief §8.4), whichever of them it has; null where it says nothing of what is left. */
export function limitWindow(headers: Headers, nowMs: number): LimitWindow | null {
  const read = (codec: { name: string; parse(text: string): number | null }) =>
    codec.parse(headers.get(codec.name) ?? '')
  const tokensReset = read(resetTokens)
  const window = {
    requestsLimit: read(limitRequests),
    requestsLeft: read(remainingRequests),
    tokensLimit: read(limitTokens),
    tokensLeft: read(remainingTokens),
  }
  if (Object.values(window).every(value => value === null)) return null
  return {
    ...window,
    requestsResetAtMs: requestsResetAtMs(headers, nowMs),
    tokensResetAtMs: tokensReset === null ? null : nowMs + Math.min(longestHintMs, tokensReset * 1_000),
    seenAtMs: nowMs,
  }
}
