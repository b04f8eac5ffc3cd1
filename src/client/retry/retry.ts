import pRetry from 'p-retry'
import { ServiceError } from '#contract/errors/service-error.ts'
import { abuseBlock } from '#contract/limits.ts'
import { isIdempotent, isPaid, type Operation } from '#contract/operations/operation.ts'
import type { Clock } from '#contract/time.ts'
import { shouldRetry } from '#contract/wire/headers.ts'
import { ClientError } from '../client-error.ts'
import { attempts, backoffBaseMs, backoffCapMs, blockJitterMs } from '../limits.ts'
import { serverHintMs, spread } from './retry-after.ts'
import { type Pause, WaitBudget } from './wait-budget.ts'

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
 * Whether another attempt is made. A paid call without a key is repeated only where the service cannot have begun it; a
 * payment is never repeated here, because the wallet itself sends the same bytes again.
 */
const retryTable: Readonly<Record<CallClass, Readonly<Record<Outcome, boolean>>>> = {
  free: row('not-sent', 'lost', 'limited', 'unavailable', 'failed'),
  paid: row('not-sent', 'limited', 'unavailable'),
  keyed: row('not-sent', 'lost', 'limited', 'unavailable', 'failed', 'under-way'),
  payment: row(),
}

function row(...again: readonly Outcome[]): Readonly<Record<Outcome, boolean>> {
  const is = (outcome: Outcome) => again.includes(outcome)
  return {
    'not-sent': is('not-sent'),
    lost: is('lost'),
    limited: is('limited'),
    unavailable: is('unavailable'),
    failed: is('failed'),
    'under-way': is('under-way'),
    refused: is('refused'),
  }
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

interface RetryOptions {
  callClass: CallClass
  signal?: AbortSignal | undefined
  clock: Clock
  /** One that the call has spent from before; else a new one of `budgetMs`. */
  budget?: WaitBudget | undefined
  /** All waits together, in milliseconds. */
  budgetMs?: number | undefined
  attempts?: number | undefined
  random?: (() => number) | undefined
  pause?: Pause | undefined
}

/**
 * Runs `attempt` until it succeeds, must not be repeated, or would have to wait beyond the budget; then its error is
 * thrown at once. Where an attempt before may have been charged, that is what is thrown, with the last error as its cause.
 */
export async function withRetry<Result>(attempt: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const { callClass, signal, clock, random = Math.random } = options
  const budget = options.budget ?? new WaitBudget({ clock, ms: options.budgetMs, pause: options.pause, signal })
  let wasLost = false
  try {
    return await pRetry(attempt, {
      retries: (options.attempts ?? attempts) - 1,
      // The library's own waits know nothing of the service's; ours is below.
      minTimeout: 0,
      ...(signal ? { signal } : {}),
      async shouldRetry({ error, attemptNumber }) {
        const outcome = outcomeOf(error)
        wasLost ||= outcome === 'lost'
        if (!retryTable[callClass][outcome] || isForbidden(error)) return false
        const nowMs = clock.now()
        if (budget.isSpent || !budget.covers(hintMs(error, nowMs))) return false
        await budget.wait(delayOf(error, attemptNumber, nowMs, random))
        return true
      },
    })
  } catch (error) {
    const isGivenUp = signal?.aborted === true && !isAnswerOrOurs(error)
    throw callClass === 'keyed' && !isGivenUp ? asFarAsKnown(error, wasLost, clock.now()) : error
  }
}

/** The service says that a repeat might do harm. */
const isForbidden = (error: unknown): boolean =>
  error instanceof ServiceError && shouldRetry.parse(error.headers[shouldRetry.name] ?? '') === false

const isAnswerOrOurs = (error: unknown): boolean => error instanceof ClientError || error instanceof ServiceError

/**
 * What ends the last attempt, a wallet's refusal and an unreadable disk included, says nothing of one before it whose answer
 * was lost, nor of one that is still at work.
 */
function asFarAsKnown(error: unknown, wasLost: boolean, nowMs: number): unknown {
  const outcome = outcomeOf(error)
  if (outcome === 'lost' || !(wasLost || outcome === 'under-way')) return error
  return new ClientError('no-answer', 'An earlier attempt of this call may have been done; its answer did not come.', {
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
const hintMs = (error: unknown, nowMs: number): number => Math.max(0, (retryAtMs(error, nowMs) ?? nowMs) - nowMs)

/** The later of the service's wish and a full-jitter backoff. */
export function delayOf(error: unknown, attempt: number, nowMs: number, random: () => number): number {
  const backoff = random() * Math.min(backoffCapMs, backoffBaseMs * 2 ** (attempt - 1))
  const hint = hintMs(error, nowMs)
  const extra = error instanceof ServiceError && error.kind === 'FAILED_REQUESTS' ? blockJitterMs * random() : 0
  return Math.max(backoff, hint === 0 ? 0 : spread(hint, random) + extra)
}
