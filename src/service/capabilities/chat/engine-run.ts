import {
  accessDisabled,
  authenticationFailed,
  chargeUnknown,
  inferenceFailed,
  insufficientBalance,
  keyUsdLimitReached,
  ledgerReadOnly,
} from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { ChatCompletion, ChatCompletionChunk } from '#contract/operations/chat.ts'
import type { ChatCall, ChatEngine } from '#engines/ports/engine.ts'
import { verdictOf } from '#engines/upstreams/upstream.ts'
import { boundedWait } from '#host/async.ts'
import { ChargeUnknown } from '#ledger/charges/funding.ts'
import type { Refusal } from '#ledger/store/store.ts'
import type { TextModel } from '../../models/model.ts'

/** Prepares the call of the engine, which may take a while. */
type Prepare = (signal: AbortSignal) => Promise<Omit<ChatCall, 'signal'>>

type Step = IteratorResult<ChatCompletionChunk>

const ended: Step = { done: true, value: undefined }

/**
 * Runs one stream of an engine. It continues for a while after its reader has left, because most engines report usage
 * only at the end; then it is aborted, and has a few seconds to report.
 */
export class EngineRun {
  readonly #engine: ChatEngine
  readonly #prepare: Prepare
  readonly #abort = new AbortController()
  readonly #stopListening: () => void
  #chunks: AsyncIterator<ChatCompletionChunk> | null = null
  #giveUp: (error: unknown) => void = () => undefined
  #wait: NodeJS.Timeout | null = null
  #failure: unknown = null
  #left = false
  #failed = false
  #over = false

  /**
   * Nothing is prepared or sent before the first `next`. `reader` aborts when its reader leaves; with `isLate`, the
   * stream has then already continued unread for long enough.
   */
  constructor(engine: ChatEngine, prepare: Prepare, reader: AbortSignal, isLate = false) {
    this.#engine = engine
    this.#prepare = prepare
    const leave = () => {
      if (isLate) this.stop()
      this.leave()
    }
    if (reader.aborted) leave()
    reader.addEventListener('abort', leave, { once: true })
    this.#stopListening = () => reader.removeEventListener('abort', leave)
  }

  /** Whether its reader has left. */
  get left(): boolean {
    return this.#left
  }

  /** Whether it continues although its reader has left. */
  get isUnread(): boolean {
    return this.#left && !this.#over
  }

  /** Whether the engine was aborted; from then on only its usage counts. */
  get stopped(): boolean {
    return this.#abort.signal.aborted
  }

  /** Whether it ended with an error. */
  get failed(): boolean {
    return this.#failed
  }

  /** Call this when its reader has left: it continues unread for a limited time. */
  leave(): void {
    if (this.#left || this.#over) return
    this.#left = true
    if (!this.stopped) this.#after(unreadStreamMs, () => this.stop())
  }

  /** Aborts the engine and waits for its usage. */
  stop(): void {
    if (this.stopped || this.#over) return
    this.#abort.abort()
    this.#after(usageWaitMs, () => this.fail(new Error('The engine did not end in time after it was aborted.')))
  }

  /** Ends it now: the next read throws this error. */
  fail(error: unknown): void {
    if (this.#over) return
    this.#failure = error
    this.#abort.abort()
    this.#giveUp(error)
  }

  /** Rejects with the engine's error, or with that of `fail`. */
  next(): Promise<Step> {
    if (this.#over) return Promise.resolve(ended)
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        this.#failed = true
        this.#finish()
        reject(error)
      }
      const received = (step: Step) => {
        if (step.done) this.#finish()
        resolve(step)
      }
      this.#giveUp = fail
      if (this.#failure) return fail(this.#failure)
      if (this.#chunks) return void this.#chunks.next().then(received, fail)
      this.#started()
        .then(chunks => chunks?.next() ?? ended)
        .then(received, fail)
    })
  }

  /** Returns null if the reader left before the engine was called, which is then skipped. */
  async #started(): Promise<AsyncIterator<ChatCompletionChunk> | null> {
    if (this.#chunks) return this.#chunks
    const { signal } = this.#abort
    const call = await this.#prepare(signal)
    if (this.#left) return null
    this.#chunks = this.#engine.stream({ ...call, signal })[Symbol.asyncIterator]()
    return this.#chunks
  }

  /** Ends it without waiting for the engine. */
  drop(): void {
    this.#abort.abort()
    this.#finish()
  }

  #after(ms: number, run: () => void): void {
    if (this.#wait) clearTimeout(this.#wait)
    this.#wait = setTimeout(run, ms).unref()
  }

  #finish(): void {
    if (this.#over) return
    this.#over = true
    this.#stopListening()
    if (this.#wait) clearTimeout(this.#wait)
    // Not awaited, because an engine that hangs would never return.
    Promise.resolve(this.#chunks?.return?.()).catch(() => undefined)
  }
}

/** An error inside a stream, in the shape that OpenAI's clients parse. */
export interface StreamError {
  message: string
  type: 'server_error' | 'insufficient_credit' | 'authentication_error'
  param: null
  code: string | null
}

/** Returns the error for a failed engine. None of the engine's own message is passed on. */
export function failureError(error: unknown): StreamError {
  if (error instanceof ServiceError) return error.kind === keyEnded.kind ? keyEndedError : streamError(error)
  return streamError(error instanceof ChargeUnknown ? chargeUnknown() : inferenceFailed())
}

const keyEnded = authenticationFailed()

const keyEndedError: StreamError = {
  message: 'This API key was revoked or has expired, so the stream ends here. What the model has generated is charged.',
  type: 'authentication_error',
  param: null,
  code: keyEnded.kind,
}

/** Explains why the hold did not grow; null if the engine exceeded its limit. */
export function refusalError(refusal: Refusal | null): StreamError {
  switch (refusal) {
    case 'insufficient_funds':
      return creditError(insufficientBalance())
    case 'over_budget':
      return creditError(keyUsdLimitReached())
    case 'no_key':
      return keyEndedError
    case 'suspended':
      return streamError(accessDisabled())
    case 'read_only':
      return streamError(ledgerReadOnly())
    default:
      return streamError(inferenceFailed())
  }
}

const creditError = (error: ServiceError): StreamError => ({
  ...streamError(error),
  type: 'insufficient_credit',
  code: error.kind,
})

function streamError({ body }: ServiceError): StreamError {
  const said = typeof body === 'object' && body !== null && 'error' in body ? body.error : null
  const message = typeof said === 'string' ? said : 'Inference processing failed'
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : null
  return { message, type: 'server_error', param: null, code }
}

/**
 * Gets a whole answer of a model's engine. Throws what the engine throws, and `inferenceFailed` for one without a
 * choice.
 */
export async function answeredBy({ engine }: TextModel, call: ChatCall): Promise<ChatCompletion> {
  const completion = await boundedWait(engine.complete(call), { signal: call.signal })
  if (!completion.choices.length) throw inferenceFailed()
  return completion
}

/** Whether an engine refused a request because of its content, which the caller chose, instead of failing by itself. */
export const isRefused = (error: unknown): boolean => error instanceof ServiceError && verdictOf(error) === 'answered'

/** How long a stream continues after its reader has left, so that its engine can report usage. */
const unreadStreamMs = 30_000

/** How long an aborted engine may take to report usage; otherwise we count what it delivered. */
const usageWaitMs = 5_000
