import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import type { Clock } from '#contract/clock.ts'
import { abuseBlock } from '#contract/limits.ts'
import type { Operation } from '#contract/operation.ts'
import { ServiceError } from '#contract/service-error.ts'
import { ClientError } from './client-error.ts'
import { attempts, backoffBaseMs, backoffCapMs, blockJitterMs, retryBudgetMs } from './limits.ts'
import { serverHintMs, spread } from './server-hint.ts'

/** What a repeated request could do twice: nothing, a charge, or a payment's credit. */
export type CallClass = 'free' | 'paid' | 'payment'

/** How an attempt went, as far as a retry depends on it. */
export type Outcome = 'not-sent' | 'lost' | 'limited' | 'unavailable' | 'failed' | 'refused'

/**
 * Whether another attempt is made. A paid call is repeated only where the service cannot have begun it; a payment is
 * never repeated here, because the wallet itself sends the same bytes again.
 */
export const retryTable: Readonly<Record<CallClass, Readonly<Record<Outcome, boolean>>>> = {
  free: { 'not-sent': true, lost: true, limited: true, unavailable: true, failed: true, refused: false },
  paid: { 'not-sent': true, lost: false, limited: true, unavailable: true, failed: false, refused: false },
  payment: { 'not-sent': false, lost: false, limited: false, unavailable: false, failed: false, refused: false },
}

export const classOf = ({ charge }: Operation): CallClass =>
  charge === 'free' || charge === 'payment' ? charge : 'paid'

export function outcomeOf(error: unknown): Outcome {
  if (error instanceof ClientError) {
    if (error.kind === 'unreachable') return 'not-sent'
    return error.kind === 'no-answer' ? 'lost' : 'refused'
  }
  if (!(error instanceof ServiceError)) return 'refused'
  if (error.status === 429) return 'limited'
  // What had begun may still be charged.
  if (error.kind === 'BOOKS_UNREACHABLE') return 'failed'
  if (error.status === 503) return 'unavailable'
  // This kind is the service's last word on a piece of work, not a fault that passes.
  if (error.kind === 'INFERENCE_FAILED') return 'refused'
  return error.status >= 500 ? 'failed' : 'refused'
}

/** From when an error's service wants to be asked again, by our clock; null where it did not say. */
export function retryAtMs(error: unknown, nowMs: number): number | null {
  if (error instanceof ClientError) return error.retryAtMs
  if (!(error instanceof ServiceError) || error.retry !== 'later') return null
  const hint = serverHintMs(new Headers(error.headers), nowMs)
  if (hint !== null) return nowMs + hint
  return error.kind === 'FAILED_REQUESTS' ? nowMs + abuseBlock.blockMs : null
}

export interface RetryOptions {
  callClass: CallClass
  signal?: AbortSignal | undefined
  clock: Clock
  /** All waits together, in milliseconds. */
  budgetMs?: number | undefined
  attempts?: number | undefined
  random?: () => number
  pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/** Runs `attempt` until it succeeds, must not be repeated, or would have to wait beyond the budget; then its error is thrown at once. */
export async function withRetry<Result>(attempt: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const { callClass, signal, clock, random = Math.random, pause = waitFor } = options
  let leftMs = options.budgetMs ?? retryBudgetMs
  return pRetry(attempt, {
    retries: (options.attempts ?? attempts) - 1,
    // The library's own waits know nothing of the service's; ours is below.
    minTimeout: 0,
    ...(signal ? { signal } : {}),
    async shouldRetry({ error, attemptNumber }) {
      if (!retryTable[callClass][outcomeOf(error)]) return false
      const nowMs = clock.now()
      if (hintMs(error, nowMs) > leftMs) return false
      const delayMs = Math.min(leftMs, delayOf(error, attemptNumber, nowMs, random))
      leftMs -= delayMs
      await pause(delayMs, signal)
      return true
    },
  })
}

/** The service's own wish; zero where it has none and any wait will do. */
const hintMs = (error: unknown, nowMs: number): number => Math.max(0, (retryAtMs(error, nowMs) ?? nowMs) - nowMs)

/** The later of the service's wish and a full-jitter backoff. */
export function delayOf(error: unknown, attempt: number, nowMs: number, random: () => number): number {
  const backoff = random() * Math.min(backoffCapMs, backoffBaseMs * 2 ** (attempt - 1))
  const hint = hintMs(error, nowMs)
  const extra = error instanceof ServiceError && error.kind === 'FAILED_REQUESTS' ? blockJitterMs * random() : 0
  return Math.max(backoff, hint === 0 ? 0 : spread(hint, random) + extra)
}

export const waitFor = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  sleep(ms, undefined, signal ? { signal } : {})
