import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '#contract/errors/service-error.ts'
import { abuseBlock } from '#contract/limits.ts'
import { isIdempotent, isPaid, type Operation } from '#contract/operations/operation.ts'
import type { Clock } from '#contract/time.ts'
import { shouldRetry } from '#contract/wire/headers.ts'
import { ClientError } from '../client-error.ts'
import { backoffBaseMs, backoffCapMs, blockJitterMs, retryBudgetMs } from '../limits.ts'
import { serverHintMs, spread } from './retry-after.ts'

/** What a repeated request could do twice: nothing, a charge, a charge that its key prevents, or a payment's credit. */
export type CallClass = 'free' | 'paid' | 'keyed' | 'payment'

/** How an attempt went, as far as a retry depends on it. */
type Outcome =
  /** No connection: the service has not seen it. */
  | 'not-sent'
  /** No answer, or one that leaves open whether the work was done. */
  | 'lost'
  /** 429. */
  | 'limited'
  /** 503 of the contract: nothing was begun. */
  | 'unavailable'
  /** 500 and 504 of the contract. */
  | 'failed'
  /** 409: another request with the same key is at work. */
  | 'under-way'
  /** A word that another attempt would only hear again. */
  | 'refused'

/**
 * After which outcomes another attempt is made. A paid call without a key is repeated only if the service cannot have
 * begun it. A payment is never repeated here, because the wallet itself sends the same bytes again.
 */
const repeated: Readonly<Record<CallClass, readonly Outcome[]>> = {
  free: ['not-sent', 'lost', 'limited', 'unavailable', 'failed'],
  paid: ['not-sent', 'limited', 'unavailable'],
  keyed: ['not-sent', 'lost', 'limited', 'unavailable', 'failed', 'under-way'],
  payment: [],
}

/** A key counts only where the operation takes one. */
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
  // This kind is the service's last word on a piece of work, not a fault that passes.
  if (kind === 'INFERENCE_FAILED') return 'refused'
  if (status < 500) return 'refused'
  // A proxy's answer, or a ledger that went away, doesn't tell what had begun.
  if (kind === 'UNKNOWN_ANSWER' || kind === 'LEDGER_UNREACHABLE' || kind === 'CHARGE_UNKNOWN') return 'lost'
  return status === 503 ? 'unavailable' : 'failed'
}

/** Whether a call of this class is sent again after such a failure. */
export const isRepeated = (callClass: CallClass, error: unknown): boolean =>
  repeated[callClass].includes(outcomeOf(error)) && !isForbidden(error)

/** Whether it leaves open what became of the attempt. */
export const isLost = (error: unknown): boolean => outcomeOf(error) === 'lost'

/** The service says that a repeat might do harm. */
const isForbidden = (error: unknown): boolean =>
  error instanceof ServiceError && shouldRetry.parse(error.headers[shouldRetry.name] ?? '') === false

/**
 * What ends the last attempt, a wallet's refusal and an unreadable disk included, says nothing of one before it whose answer
 * was lost, nor of one that is still at work.
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

/** From when an error's service wants to be asked again, by our clock; null where it did not say. */
export function retryAtMs(error: unknown, nowMs: number): number | null {
  if (error instanceof ClientError) return error.retryAtMs
  if (!(error instanceof ServiceError) || error.retry !== 'later') return null
  const hint = serverHintMs(new Headers(error.headers), error.status, nowMs)
  if (hint !== null) return nowMs + hint
  return error.kind === 'FAILED_REQUESTS' ? nowMs + abuseBlock.blockMs : null
}

/** The service's own wish; zero where it has none and any wait will do. */
export const hintMs = (error: unknown, nowMs: number): number => Math.max(0, (retryAtMs(error, nowMs) ?? nowMs) - nowMs)

/** The later of the service's wish and a full-jitter backoff. */
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

/** All waits of one call together: for its limits, for a turn, and between its attempts. */
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

  /** Waits that long, or what is left of the budget. Rejects when the call is aborted. */
  async wait(ms: number): Promise<void> {
    this.throwIfAborted()
    const waitMs = Math.min(ms, this.#leftMs)
    this.#leftMs -= waitMs
    await this.#pause(waitMs, this.#signal)
  }

  /** The same, and over as soon as it is woken; then only the time that has passed is taken off. */
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
