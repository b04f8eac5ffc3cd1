import pRetry from 'p-retry'
import { ServiceError } from '#contract/errors/service-error.ts'
import { walletConcurrency } from '#contract/limits.ts'
import type { AnswerOf, CallOf, Operation } from '#contract/operations/operation.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { defaultVendor, fromVendor } from '#contract/wire/vendor.ts'
import { ClientError } from './client-error.ts'
import { type Credential, credentialHeaders, principalOf, SignInSkew } from './credential.ts'
import { answerBytes, bucketModelCharacters, attempts as defaultAttempts, errorBytes, mostAtOnce } from './limits.ts'
import type { FlightEnd } from './pace/breaker.ts'
import { Gate, LimitsSeen, type Passage } from './pace/gate.ts'
import { InFlightLimit } from './pace/in-flight-limit.ts'
import { type LimitWindow, limitWindow } from './pace/limiter.ts'
import { memorySharedNotes, type SharedNotes } from './pace/shared-notes.ts'
import {
  asFarAsKnown,
  type CallClass,
  classOf,
  delayOf,
  hintMs,
  isLost,
  isRepeated,
  type Pause,
  WaitBudget,
  type WaitBudgetOptions,
} from './retry/retry.ts'
import { retryAfterMs } from './retry/retry-after.ts'
import { readErrorBody, readJson, tellingItsEnd } from './wire/body.ts'
import { type AnswerHeaders, answerHeaders, inOurWords, readError, readLeniently } from './wire/read-answer.ts'
import {
  downloadAddress,
  fetchWire,
  publicLookup,
  type Resolve,
  type ServiceAddress,
  serviceAddress,
  undiciWire,
  type Wire,
  type WireRequest,
  type WireResponse,
} from './wire/wire.ts'
import { type WrittenRequest, writeRequest } from './wire/write-request.ts'

export interface ClientOptions {
  /** With its path: `https://host/api/v1`. Plain http is for this machine. */
  baseUrl: string
  credential: Credential
  vendor?: string | undefined
  /** How hosts of downloads are resolved; the system's way where absent. */
  resolve?: Resolve | undefined
  /** Takes the place of the client's own connections, for a service in the same process. */
  fetch?: ((request: Request) => Response | Promise<Response>) | undefined
  clock?: Clock | undefined
  /** Shared with the other processes of this machine; this process's own where absent. Closed with the client. */
  notes?: SharedNotes | undefined
  /** How waits are made; a test owns it. */
  pause?: Pause | undefined
  random?: (() => number) | undefined
}

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Sends at most; 1 for a caller that repeats by itself. */
  attempts?: number | undefined
  /** All waits of the call together, those for its limits included. */
  retryBudgetMs?: number | undefined
  /**
   * Names one piece of paid work at a service that keeps answers by it. With it a call is repeated after a lost answer and
   * a 5xx too, with the same bytes; without it only where the service cannot have begun.
   */
  idempotencyKey?: string | undefined
}

interface ExchangeOptions {
  signal?: AbortSignal | undefined
  isAnonymous?: boolean | undefined
  /** The limit and the model that the request counts for; unknown where absent. */
  bucket?: string | undefined
  /** Of the call that this exchange is an attempt of. */
  budget?: WaitBudget | undefined
}

export interface ClientAnswer<O extends Operation> {
  answer: AnswerOf<O>
  headers: AnswerHeaders
}

/** An answer that is JSON or the bytes of a file. */
export type OpenedAnswer<O extends Operation> =
  | ({ kind: 'json' } & ClientAnswer<O>)
  | { kind: 'bytes'; mimeType: string; response: WireResponse; headers: AnswerHeaders }

/** Speaks to one service. Failures are `ServiceError` where the service answered, else `ClientError`. */
export class Client {
  readonly address: ServiceAddress
  readonly vendor: string
  readonly limitsSeen: LimitsSeen
  readonly clock: Clock
  readonly credential: Credential
  readonly #wire: Wire
  readonly #closeWire: () => Promise<void>
  /** For hosts that the service has named; made by the first of them. */
  #publicWire: ReturnType<typeof undiciWire> | undefined
  readonly #gate: Gate
  readonly #skew = new SignInSkew()
  readonly #options: ClientOptions
  #activity = 0

  constructor(options: ClientOptions) {
    const { clock = systemClock, credential, notes = memorySharedNotes(), random = Math.random } = options
    this.address = serviceAddress(options.baseUrl)
    this.vendor = options.vendor ?? defaultVendor
    this.clock = clock
    this.credential = credential
    this.#options = options
    const own = options.fetch ? { wire: fetchWire(options.fetch), close: async () => {} } : undiciWire()
    this.#wire = own.wire
    this.#closeWire = own.close
    const caller = `${this.address.origin} ${principalOf(credential)}`
    // Of a wallet the contract tells how many may be in flight; all else is learnt.
    const turns = new InFlightLimit(clock, credential && 'payer' in credential ? walletConcurrency : mostAtOnce)
    this.#gate = new Gate({ notes, turns, clock, caller, random })
    this.limitsSeen = new LimitsSeen(notes, caller, clock)
  }

  /**
   * Counts what this process begins and ends at the service: while it stands still, no request of ours has changed there what
   * was read before.
   */
  get activity(): number {
    return this.#activity
  }

  /** One operation whose 200 is JSON. */
  async call<O extends Operation>(operation: O, call: CallOf<O>, options: CallOptions = {}): Promise<ClientAnswer<O>> {
    return this.#repeating(operation, call, options, response => this.#json(operation, response))
  }

  /** One operation whose 200 may be a file; the caller reads or discards it. */
  async open<O extends Operation>(operation: O, call: CallOf<O>, options: CallOptions = {}): Promise<OpenedAnswer<O>> {
    return this.#repeating(operation, call, options, async response => {
      const mimeType = mimeTypeOf(response.headers)
      if (mimeType === 'application/json') return { kind: 'json', ...(await this.#json(operation, response)) }
      const headers = answerHeaders(response.headers, this.clock.now())
      return { kind: 'bytes', mimeType, response, headers }
    })
  }

  /** One exchange with the service as it is: gate, credential and limit headers, no retry, no reading. Its own origin only. */
  async exchange(
    request: { method: string; url: string; headers: Record<string, string>; body?: string | Uint8Array | undefined },
    { signal, isAnonymous = false, bucket, budget = this.#budget({ signal }) }: ExchangeOptions = {},
  ): Promise<WireResponse> {
    if (new URL(request.url).origin !== this.address.origin) {
      throw new ClientError('not-allowed', 'This client only sends requests to its own service.', { wasSent: false })
    }
    const credential = isAnonymous ? null : this.credential
    let signedMs = 0
    const send = async () => {
      const passage = await this.#gate.enter(bucket ?? null, budget)
      signedMs = this.#skew.ms
      return this.#through(passage, { ...request, signal }, credential)
    }
    let response = await send()
    // Once: what is refused again is refused for another reason.
    if (credential && 'payer' in credential && this.#skew.learnsFrom(response, signedMs, this.clock.now())) {
      response.discard()
      response = await send()
    }
    if (response.status < 300 || response.status >= 400) return response
    response.discard()
    throw new ClientError('redirected', 'The service answered with a redirect, which is not followed.', {
      wasSent: true,
    })
  }

  /** Reads an answer without success as the error that it is. */
  async errorOf(operation: Operation | null, response: WireResponse): Promise<ServiceError> {
    const secret = this.credential && 'apiKey' in this.credential ? this.credential.apiKey : null
    const body = await readErrorBody(response, errorBytes, secret)
    const error = readError(operation, { status: response.status, body, headers: response.headers }, this.vendor)
    if (error.kind === 'FAILED_REQUESTS') this.#gate.blocked()
    if (error.kind === 'X402_CONCURRENCY_LIMIT') this.#gate.crowded()
    return error
  }

  /** A download, or the end of one, that carries no credential, from where `downloadAddress` lets it. */
  async download(
    url: string,
    headers: Record<string, string>,
    { signal, method = 'GET' }: { signal?: AbortSignal | undefined; method?: 'GET' | 'DELETE' } = {},
  ): Promise<WireResponse> {
    const target = downloadAddress(url, this.address)
    const request = { method, url, headers, signal }
    if (target.hostname !== new URL(this.address.baseUrl).hostname) return this.#toOuterHost(request)
    if (target.origin !== this.address.origin) return this.#wire(request)
    return this.#through(await this.#gate.enter(null, this.#budget({ signal })), request, null)
  }

  /** What resolves a name has checked where it leads, so that the service's word opens no private network. */
  #toOuterHost(request: WireRequest): Promise<WireResponse> {
    const { fetch, resolve } = this.#options
    if (fetch) return this.#wire(request)
    this.#publicWire ??= undiciWire({ lookup: publicLookup(resolve) })
    return this.#publicWire.wire(request)
  }

  async close(): Promise<void> {
    await Promise.all([this.#closeWire(), this.#publicWire?.close()])
    this.#gate.close()
  }

  /** One request that the gate let through, whose end the gate hears of. */
  async #through(passage: Passage, request: WireRequest, credential: Credential): Promise<WireResponse> {
    let end: FlightEnd = 'not-sent'
    this.#activity += 1
    const left = () => {
      this.#activity += 1
      passage.left()
    }
    try {
      const headers = { ...request.headers, ...(await credentialHeaders(credential, request.url, this.#skew.ms)) }
      end = 'unanswered'
      const response = await this.#wire({ ...request, headers })
      const inOurs = { ...response, headers: inOurWords(response.headers, this.vendor) }
      end = response.status >= 200 && response.status < 300 ? 'succeeded' : 'failed'
      passage.ended({ end, ...this.#saidOfLimits(inOurs) })
      if (end === 'succeeded') return tellingItsEnd(inOurs, left)
      left()
      return inOurs
    } catch (error) {
      passage.ended({ end })
      left()
      throw error
    }
  }

  #saidOfLimits({ status, headers }: WireResponse): { window: LimitWindow | null; comeAgainAtMs: number | null } {
    const nowMs = this.clock.now()
    const window = limitWindow(headers, nowMs)
    const afterMs = status === 429 && !window ? retryAfterMs(headers, nowMs) : null
    return { window, comeAgainAtMs: afterMs === null ? null : nowMs + afterMs }
  }

  async #json<O extends Operation>(operation: O, response: WireResponse): Promise<ClientAnswer<O>> {
    const body = fromVendor(await readJson(response, answerBytes), this.vendor)
    const schema = operation.answer.json
    const answer = schema ? readLeniently(schema, body) : null
    if (answer === null)
      throw new ClientError('unreadable', 'The answer does not match the API description.', { wasSent: true })
    return { answer: answer as AnswerOf<O>, headers: answerHeaders(response.headers, this.clock.now()) }
  }

  #budget(options: CallOptions): WaitBudget {
    const { signal, retryBudgetMs: ms } = options
    return new WaitBudget({ clock: this.clock, ms, signal, pause: this.#options.pause })
  }

  /** Writes the request once, so that every attempt has the same bytes, and reads the answer of the one with success. */
  async #repeating<O extends Operation, Result>(
    operation: O,
    call: CallOf<O>,
    options: CallOptions,
    read: (response: WireResponse) => Promise<Result>,
  ): Promise<Result> {
    const { idempotencyKey, signal, attempts } = options
    const callClass = classOf(operation, idempotencyKey !== undefined)
    const key = callClass === 'keyed' ? idempotencyKey : undefined
    const request = await writeRequest(this.address.baseUrl, operation, call, this.vendor, key)
    const budget = this.#budget(options)
    const attempt = async () =>
      read(await this.#answered(operation, request, { signal, budget, bucket: bucketOf(operation, call) }))
    return withRetry(attempt, { callClass, signal, clock: this.clock, budget, attempts, random: this.#options.random })
  }

  /** A response with success; everything else is thrown. */
  async #answered(operation: Operation, request: WrittenRequest, options: ExchangeOptions): Promise<WireResponse> {
    // A header that an operation does not need is not sent: a list of models needs no identity.
    const response = await this.exchange(request, { ...options, isAnonymous: operation.auth.length === 0 })
    if (response.status >= 200 && response.status < 300) return response
    throw await this.errorOf(operation, response)
  }
}

interface RetryOptions extends Omit<WaitBudgetOptions, 'ms'> {
  callClass: CallClass
  /** One that the call has spent from before; else a new one of `budgetMs`. */
  budget?: WaitBudget | undefined
  /** All waits together, in milliseconds. */
  budgetMs?: number | undefined
  attempts?: number | undefined
  random?: (() => number) | undefined
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
      retries: (options.attempts ?? defaultAttempts) - 1,
      // The library's own waits know nothing of the service's; ours is below.
      minTimeout: 0,
      ...(signal ? { signal } : {}),
      async shouldRetry({ error, attemptNumber }) {
        wasLost ||= isLost(error)
        if (!isRepeated(callClass, error)) return false
        const nowMs = clock.now()
        if (budget.isSpent || !budget.covers(hintMs(error, nowMs))) return false
        await budget.wait(delayOf(error, attemptNumber, nowMs, random))
        return true
      },
    })
  } catch (error) {
    const isGivenUp = signal?.aborted === true && !(error instanceof ClientError || error instanceof ServiceError)
    throw callClass === 'keyed' && !isGivenUp ? asFarAsKnown(error, wasLost, clock.now()) : error
  }
}

/** Services count by limit and model (brief §8). */
export function bucketOf(operation: Operation, call: object): string {
  const model = (call as { body?: { model?: unknown } }).body?.model
  return `${operation.limit} ${typeof model === 'string' ? model.slice(0, bucketModelCharacters) : ''}`
}

const mimeTypeOf = (headers: Headers): string =>
  (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
