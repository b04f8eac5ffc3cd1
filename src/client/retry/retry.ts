import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '#contract/errors/service-error.ts'
import { abuseBlock } from '#contract/limits.ts'
import { isIdempotent, isPaid, type Operation } from '#contract/operations/operation.ts'
import type { Clock } from '#contract/time.ts'
import { shouldRetry } from '#contract/wire/headers.ts'
import { ClientError } from '../client-error.ts'
import { backoffBaseMs, backoffCapMs, blockJitterMs, retryBudgetMs } from '../limits.ts'
import { serverHintMs, spread } from './retry-after.ts'

/**
 * The possible effect of a repeated request: nothing, a second charge, a charge that its key prevents, or a payment's
 * credit.
 */
export type CallClass = 'free' | 'paid' | 'keyed' | 'payment'

/** How an attempt ended, as far as a retry depends on it. */
type Outcome =
  /** No connection: the service has not seen it. */
  | 'not-sent'
  /** No answer, or one that leaves open whether the work was done. */
  | 'lost'
  /** 429. */
  | 'limited'
  /** A 503 from the contract: nothing was started. */
  | 'unavailable'
  /** A 500 or 504 from the contract. */
  | 'failed'
  /** 409: another request with the same key is in flight. */
  | 'under-way'
  /** A refusal that another attempt would only repeat. */
  | 'refused'

/**
 * Which outcomes lead to another attempt. A paid call without a key is repeated only if the service cannot have started
 * it. A payment is never repeated here, because the wallet sends the same bytes again itself.
 */
const repeated: Readonly<Record<CallClass, readonly Outcome[]>> = {
  free: ['not-sent', 'lost', 'limited', 'unavailable', 'failed'],
  paid: ['not-sent', 'limited', 'unavailable'],
  keyed: ['not-sent', 'lost', 'limited', 'unavailable', 'failed', 'under-way'],
  payment: [],
}

/** A key counts only if the operation accepts one. */
export function classOf(operation: Operation, isKeyed = false): CallClass {
  if (!isPaid(operation)) return operation.charge === 'payment' ? 'payment' : 'free'
  return isKeyed && isIdempotent(operation) ? 'keyed' : 'paid'
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof ClientError) {
    if (error.kind === 'unreachable') return 'not-sent'
    return error.kind === 'no-answer' ? 'lost' : 'refused'
  }
  return error instanceof ServiceError ? outcomeOfAnswer(error) : 'refused'
}

function outcomeOfAnswer({ kind, status }: ServiceError): Outcome {
  if (status === 429) return 'limited'
  if (kind === 'IDEMPOTENCY_KEY_IN_USE') return 'under-way'
  // This kind is the final result of a piece of work, not a transient fault.
  if (kind === 'INFERENCE_FAILED') return 'refused'
  if (status < 500) return 'refused'
  // A proxy's answer, or a ledger that became unreachable, does not show what had started.
  if (kind === 'UNKNOWN_ANSWER' || kind === 'LEDGER_UNREACHABLE' || kind === 'CHARGE_UNKNOWN') return 'lost'
  return status === 503 ? 'unavailable' : 'failed'
}

/** Returns whether a call of this class is retried after this failure. */
export const isRepeated = (callClass: CallClass, error: unknown): boolean =>
  repeated[callClass].includes(outcomeOf(error)) && !isForbidden(error)

/** Returns whether the outcome of the attempt is unknown. */
export const isLost = (error: unknown): boolean => outcomeOf(error) === 'lost'

/** The service warns that repeating might do harm. */
const isForbidden = (error: unknown): boolean =>
  error instanceof ServiceError && shouldRetry.parse(error.headers[shouldRetry.name] ?? '') === false

/**
 * The error that ends the last attempt, such as a wallet's refusal or an unreadable disk, says nothing about an earlier
 * attempt whose answer was lost or that is still in flight.
 */
export function asFarAsKnown(error: unknown, wasLost: boolean, nowMs: number): unknown {
  const outcome = outcomeOf(error)
  if (outcome === 'lost' || !(wasLost || outcome === 'under-way')) return error
  return new ClientError('no-answer', 'An earlier attempt of this call may have succeeded; its answer was lost.', {
    wasSent: true,
    retryAtMs: retryAtMs(error, nowMs),
    cause: error,
  })
}

/** Returns when the service wants to be retried, by our clock; null if it did not say. */
export function retryAtMs(error: unknown, nowMs: number): number | null {
  if (error instanceof ClientError) return error.retryAtMs
  if (!(error instanceof ServiceError) || error.retry !== 'later') return null
  const hint = serverHintMs(new Headers(error.headers), error.status, nowMs)
  if (hint !== null) return nowMs + hint
  return error.kind === 'FAILED_REQUESTS' ? nowMs + abuseBlock.blockMs : null
}

/** Returns the wait that the service asked for, in milliseconds; zero if it asked for none. */
export const hintMs = (error: unknown, nowMs: number): number => Math.max(0, (retryAtMs(error, nowMs) ?? nowMs) - nowMs)

/** Returns the longer of the service's requested wait and a full-jitter backoff. */
export function delayOf(error: unknown, attempt: number, nowMs: number, random: () => number): number {
  const backoff = random() * Math.min(backoffCapMs, backoffBaseMs * 2 ** (attempt - 1))
  const hint = hintMs(error, nowMs)
  const extra = error instanceof ServiceError && error.kind === 'FAILED_REQUESTS' ? blockJitterMs * random() : 0
  return Math.max(backoff, hint === 0 ? 0 : spread(hint, random) + extra)
}

/** Waits; rejects when the signal is aborted. */
export type Pause = (ms: number, signal: AbortSignal | undefined) => Promise<void>

export const waitFor: Pause = (ms, signal) => sleep(ms, undefined, signal ? { signal } : {})

export interface WaitBudgetOptions {
  clock: Clock
  ms?: number | undefined
  pause?: Pause | undefined
  signal?: AbortSignal | undefined
}

/** The total waiting time of one call: for its limits, for a slot, and between its attempts. */
export class WaitBudget {
  #leftMs: number
  readonly #clock: Clock
  readonly #pause: Pause
  readonly #signal: AbortSignal | undefined

  constructor({ clock, ms = retryBudgetMs, pause = waitFor, signal }: WaitBudgetOptions) {
    this.#leftMs = ms
    this.#clock = clock
    this.#pause = pause
    this.#signal = signal
  }

  get isSpent(): boolean {
    return this.#leftMs <= 0
  }

  covers(ms: number): boolean {
    return ms <= this.#leftMs
  }

  /** Waits this long, or for the rest of the budget. Rejects when the call is aborted. */
  async wait(ms: number): Promise<void> {
    this.throwIfAborted()
    const waitMs = Math.min(ms, this.#leftMs)
    this.#leftMs -= waitMs
    await this.#pause(waitMs, this.#signal)
  }

  /** Like `wait`, but ends as soon as it is woken; then only the elapsed time is deducted. */
  async waitUntil(woken: AbortSignal, ms: number): Promise<void> {
    this.throwIfAborted()
    const waitMs = Math.min(ms, this.#leftMs)
    const startedAtMs = this.#clock.now()
    try {
      await this.#pause(waitMs, this.#signal ? AbortSignal.any([this.#signal, woken]) : woken)
      this.#leftMs -= waitMs
    } catch (error) {
      this.throwIfAborted()
      if (!woken.aborted) throw error
      this.#leftMs -= Math.min(waitMs, Math.max(0, this.#clock.now() - startedAtMs))
    }
  }

  throwIfAborted(): void {
    this.#signal?.throwIfAborted()
  }
}
