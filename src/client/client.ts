import pRetry from 'p-retry'
import { ServiceError } from '#contract/errors/service-error.ts'
import { walletConcurrency } from '#contract/limits.ts'
import { type AnswerOf, type CallOf, isPaid, type Operation } from '#contract/operations/operation.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import { defaultVendor, fromVendor } from '#contract/wire/vendor.ts'
import { ClientError } from './client-error.ts'
import { type Credential, credentialHeaders, principalOf, SignInSkew } from './credential.ts'
import {
  answerBytes,
  bodyMs,
  bucketModelCharacters,
  attempts as defaultAttempts,
  errorBytes,
  mostAtOnce,
  paidBodyMs,
} from './limits.ts'
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
import { readErrorBody, readJson, tellingItsEnd, type WrittenRequest, writeRequest } from './wire/write-request.ts'

export interface ClientOptions {
  /** Includes the path: `https://host/api/v1`. Plain http is only for this machine. */
  baseUrl: string
  credential: Credential
  vendor?: string | undefined
  /** Resolves the hosts of downloads. Defaults to the system resolver. */
  resolve?: Resolve | undefined
  /** Replaces the client's own connections, for a service in the same process. */
  fetch?: ((request: Request) => Response | Promise<Response>) | undefined
  clock?: Clock | undefined
  /** Shared with the other processes on this machine; private to this process by default. Closed with the client. */
  notes?: SharedNotes | undefined
  /** Tests replace this to control waiting. */
  pause?: Pause | undefined
  random?: (() => number) | undefined
}

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Maximum number of attempts; 1 for a caller that does its own retries. */
  attempts?: number | undefined
  /** Total waiting time of the call, including waits for limits. */
  retryBudgetMs?: number | undefined
  /**
   * Identifies one piece of paid work at a service that stores answers by key. With a key, a call is also retried after
   * a lost answer or a 5xx, with the same bytes; without one, only if the service cannot have started it.
   */
  idempotencyKey?: string | undefined
}

interface ExchangeOptions {
  signal?: AbortSignal | undefined
  isAnonymous?: boolean | undefined
  /** The limit and model that the request counts towards; unknown if absent. */
  bucket?: string | undefined
  /** The waiting budget of the call that this exchange belongs to. */
  budget?: WaitBudget | undefined
}

export interface ClientAnswer<O extends Operation> {
  answer: AnswerOf<O>
  headers: AnswerHeaders
}

/** An answer that is either JSON or the bytes of a file. */
export type OpenedAnswer<O extends Operation> =
  | ({ kind: 'json' } & ClientAnswer<O>)
  | { kind: 'bytes'; mimeType: string; response: WireResponse; headers: AnswerHeaders }

/** Talks to one service. Failures are a `ServiceError` if the service answered, else a `ClientError`. */
export class Client {
  readonly address: ServiceAddress
  readonly vendor: string
  readonly limitsSeen: LimitsSeen
  readonly clock: Clock
  readonly credential: Credential
  readonly #wire: Wire
  readonly #closeWire: () => Promise<void>
  /** For hosts that the service names; created on first use. */
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
    // The contract fixes a wallet's limit of calls in flight; for other callers it is learned from answers.
    const turns = new InFlightLimit(clock, credential && 'payer' in credential ? walletConcurrency : mostAtOnce)
    this.#gate = new Gate({ notes, turns, clock, caller, random })
    this.limitsSeen = new LimitsSeen(notes, caller, clock)
  }

  /**
   * Counts the requests that this process starts and ends at the service. If the count has not changed, none of our
   * requests has changed what was read earlier.
   */
  get activity(): number {
    return this.#activity
  }

  /** Calls an operation whose 200 is JSON. */
  async call<O extends Operation>(operation: O, call: CallOf<O>, options: CallOptions = {}): Promise<ClientAnswer<O>> {
    return this.#repeating(operation, call, options, response => this.#json(operation, response))
  }

  /** Calls an operation whose 200 may be a file. The caller must read or discard it. */
  async open<O extends Operation>(operation: O, call: CallOf<O>, options: CallOptions = {}): Promise<OpenedAnswer<O>> {
    return this.#repeating(operation, call, options, async response => {
      const mimeType = mimeTypeOf(response.headers)
      if (mimeType === 'application/json') return { kind: 'json', ...(await this.#json(operation, response)) }
      const headers = answerHeaders(response.headers, this.clock.now())
      return { kind: 'bytes', mimeType, response, headers }
    })
  }

  /**
   * Makes one raw exchange with the service's own origin: gate, credential and limit headers, but no retry and no
   * parsing.
   */
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
    // Only once: a second refusal has another reason.
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

  /** Reads an unsuccessful answer as the error that it represents. */
  async errorOf(operation: Operation | null, response: WireResponse): Promise<ServiceError> {
    const secret = this.credential && 'apiKey' in this.credential ? this.credential.apiKey : null
    const body = await readErrorBody(response, errorBytes, secret)
    const error = readError(operation, { status: response.status, body, headers: response.headers }, this.vendor)
    if (error.kind === 'FAILED_REQUESTS') this.#gate.blocked()
    if (error.kind === 'X402_CONCURRENCY_LIMIT') this.#gate.crowded()
    return error
  }

  /** Makes a download request without a credential, to an address that `downloadAddress` allows. */
  async download(
    url: string,
    headers: Record<string, string>,
    { signal, method = 'GET' }: { signal?: AbortSignal | undefined; method?: 'GET' | 'DELETE' } = {},
  ): Promise<WireResponse> {
    const target = downloadAddress(url, this.address)
    const request = { method, url, headers, signal }
    if (target.hostname !== new URL(this.address.baseUrl).hostname) return this.#toOtherHost(request)
    if (target.origin !== this.address.origin) return this.#wire(request)
    return this.#through(await this.#gate.enter(null, this.#budget({ signal })), request, null)
  }

  /** The resolver has checked the address, so a service cannot lead us into a private network. */
  #toOtherHost(request: WireRequest): Promise<WireResponse> {
    const { fetch, resolve } = this.#options
    if (fetch) return this.#wire(request).catch(ofFileHost)
    this.#publicWire ??= undiciWire({ lookup: publicLookup(resolve) })
    return this.#publicWire.wire(request).catch(ofFileHost)
  }

  async close(): Promise<void> {
    await Promise.all([this.#closeWire(), this.#publicWire?.close()])
    this.#gate.close()
  }

  /** Sends one request that the gate let through, and reports its end to the gate. */
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

  #saidOfLimits({ status, headers }: WireResponse): { window: LimitWindow | null; retryAtMs: number | null } {
    const nowMs = this.clock.now()
    const window = limitWindow(headers, nowMs)
    const afterMs = status === 429 && !window ? retryAfterMs(headers, nowMs) : null
    return { window, retryAtMs: afterMs === null ? null : nowMs + afterMs }
  }

  async #json<O extends Operation>(operation: O, response: WireResponse): Promise<ClientAnswer<O>> {
    const body = fromVendor(await readJson(response, answerBytes, isPaid(operation) ? paidBodyMs : bodyMs), this.vendor)
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

  /** Writes the request once, so that every attempt has the same bytes, and reads the first successful answer. */
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

  /** Returns a successful response and throws everything else. */
  async #answered(operation: Operation, request: WrittenRequest, options: ExchangeOptions): Promise<WireResponse> {
    // Don't send a credential that the operation does not need: listing models needs no identity.
    const response = await this.exchange(request, { ...options, isAnonymous: operation.auth.length === 0 })
    if (response.status >= 200 && response.status < 300) return response
    throw await this.errorOf(operation, response)
  }
}

interface RetryOptions extends Omit<WaitBudgetOptions, 'ms'> {
  callClass: CallClass
  /** The call's waiting budget, of which some may be spent; otherwise a new one of `budgetMs`. */
  budget?: WaitBudget | undefined
  /** Total waiting time, in milliseconds. */
  budgetMs?: number | undefined
  attempts?: number | undefined
  random?: (() => number) | undefined
}

/**
 * Runs `attempt` until it succeeds, must not be repeated, or would have to wait longer than the budget; then throws its
 * error. If an earlier attempt may have been charged, throws that attempt's error, with the last error as its cause.
 */
export async function withRetry<Result>(attempt: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const { callClass, signal, clock, random = Math.random } = options
  const budget = options.budget ?? new WaitBudget({ clock, ms: options.budgetMs, pause: options.pause, signal })
  let wasLost = false
  try {
    return await pRetry(attempt, {
      retries: (options.attempts ?? defaultAttempts) - 1,
      // The library's own delays ignore the service's hints, so ours are used below.
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

/** A failure of another host, which must not be taken for one of the service. */
function ofFileHost(error: unknown): never {
  if (!(error instanceof ClientError) || error.kind !== 'unreachable') throw error
  throw new ClientError('unreachable', 'The host of the file cannot be reached.', { wasSent: false, cause: error })
}

const mimeTypeOf = (headers: Headers): string =>
  (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
