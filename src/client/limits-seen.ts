import {
  limitRequests,
  limitTokens,
  modelId,
  remainingRequests,
  remainingTokens,
  resetTokens,
} from '#contract/headers.ts'
import { limitsSeenModels } from './limits.ts'
import { requestsResetAtMs } from './server-hint.ts'

/** What the last answer said about a caller's window. Null where it did not say. */
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

/** Reads the limit headers of an answer; null where it has none. */
export function limitWindow(headers: Headers, nowMs: number): LimitWindow | null {
  const read = (codec: { name: string; parse(text: string): number | null }) =>
    codec.parse(headers.get(codec.name) ?? '')
  const tokensReset = read(resetTokens)
  const requestsLimit = read(limitRequests)
  const requestsLeft = read(remainingRequests)
  if (requestsLimit === null && requestsLeft === null) return null
  return {
    requestsLimit,
    requestsLeft,
    requestsResetAtMs: requestsResetAtMs(headers, nowMs),
    tokensLimit: read(limitTokens),
    tokensLeft: read(remainingTokens),
    tokensResetAtMs: tokensReset === null ? null : nowMs + tokensReset * 1_000,
    seenAtMs: nowMs,
  }
}

/** The last windows, by model and the last of all. */
export class LimitsSeen {
  readonly #byModel = new Map<string, LimitWindow>()
  #last: LimitWindow | null = null

  note(headers: Headers, nowMs: number): void {
    const window = limitWindow(headers, nowMs)
    if (!window) return
    this.#last = window
    const model = headers.get(modelId.name)
    if (model === null) return
    this.#byModel.delete(model)
    this.#byModel.set(model, window)
    const oldest = this.#byModel.size > limitsSeenModels ? this.#byModel.keys().next().value : undefined
    if (oldest !== undefined) this.#byModel.delete(oldest)
  }

  get last(): LimitWindow | null {
    return this.#last
  }

  of(model: string): LimitWindow | null {
    return this.#byModel.get(model) ?? null
  }

  /** How long to wait before a call that would be refused; zero where it would not be, as far as we know. */
  waitMs(model: string, nowMs: number): number {
    const window = this.of(model)
    if (window?.requestsLeft !== 0 || window.requestsResetAtMs === null) return 0
    return Math.max(0, window.requestsResetAtMs - nowMs)
  }
}
