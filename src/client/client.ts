import { type Clock, systemClock } from '#contract/clock.ts'
import type { AnswerOf, CallOf, Operation } from '#contract/operation.ts'
import type { ServiceError } from '#contract/service-error.ts'
import { defaultVendor, fromVendor } from '#contract/vendor.ts'
import { type AnswerHeaders, answerHeaders, inOurWords } from './answer-headers.ts'
import { Breaker, type BreakerStore, memoryBreakerStore } from './breaker.ts'
import { ClientError } from './client-error.ts'
import { type Credential, credentialHeaders, principalOf } from './credential.ts'
import { fetchWire } from './fetch-wire.ts'
import { answerBytes, errorBytes, retryBudgetMs } from './limits.ts'
import { LimitsSeen } from './limits-seen.ts'
import { readJson } from './read-body.ts'
import { readError } from './read-error.ts'
import { readLeniently } from './read-leniently.ts'
import { classOf, type RetryOptions, waitFor, withRetry } from './retry.ts'
import { type ServiceAddress, serviceAddress } from './service-address.ts'
import { undiciWire } from './undici-wire.ts'
import type { Wire, WireResponse } from './wire.ts'
import { writeRequest } from './write-request.ts'

export interface ClientOptions {
  /** With its path: `https://host/api/v1`. Plain http is for this machine. */
  baseUrl: string
  credential: Credential
  vendor?: string | undefined
  /** Takes the place of the client's own connections, for a service in the same process. */
  fetch?: ((request: Request) => Response | Promise<Response>) | undefined
  clock?: Clock | undefined
  breakerStore?: BreakerStore | undefined
  /** How waits are made; a test owns it. */
  pause?: RetryOptions['pause'] | undefined
  random?: (() => number) | undefined
}

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Sends at most; 1 for a caller that repeats by itself. */
  attempts?: number | undefined
  retryBudgetMs?: number | undefined
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
  readonly limitsSeen = new LimitsSeen()
  readonly clock: Clock
  readonly credential: Credential
  readonly #wire: Wire
  readonly #closeWire: () => Promise<void>
  readonly #breaker: Breaker
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.address = serviceAddress(options.baseUrl)
    this.vendor = options.vendor ?? defaultVendor
    this.clock = options.clock ?? systemClock
    this.credential = options.credential
    this.#options = options
    const own = options.fetch ? { wire: fetchWire(options.fetch), close: async () => {} } : undiciWire()
    this.#wire = own.wire
    this.#closeWire = own.close
    const key = `${this.address.origin} ${principalOf(options.credential)}`
    this.#breaker = new Breaker(options.breakerStore ?? memoryBreakerStore(), this.clock, key, options.random)
  }

  /** One operation whose 200 is JSON. */
  async call<O extends Operation>(operation: O, call: CallOf<O>, options: CallOptions = {}): Promise<ClientAnswer<O>> {
    await this.#waitForWindow(call, options)
    return this.#repeating(operation, options, async () => {
      const response = await this.#answered(operation, call, options)
      return this.#json(operation, response)
    })
  }

  /** One operation whose 200 may be a file; whoever gets one reads or discards it. */
  async open<O extends Operation>(operation: O, call: CallOf<O>, options: CallOptions = {}): Promise<OpenedAnswer<O>> {
    return this.#repeating(operation, options, async () => {
      const response = await this.#answered(operation, call, options)
      const mimeType = mimeTypeOf(response.headers)
      if (mimeType === 'application/json') return { kind: 'json', ...(await this.#json(operation, response)) }
      const headers = answerHeaders(response.headers, this.clock.now())
      return { kind: 'bytes', mimeType, response, headers }
    })
  }

  /** One exchange with the service as it is: breaker, credential and limit headers, no retry, no reading. Its own origin only. */
  async exchange(
    request: { method: string; url: string; headers: Record<string, string>; body?: string | Uint8Array | undefined },
    options: { signal?: AbortSignal | undefined; isAnonymous?: boolean } = {},
  ): Promise<WireResponse> {
    if (new URL(request.url).origin !== this.address.origin) {
      throw new ClientError('not-allowed', 'This client speaks to its own service only.', { wasSent: false })
    }
    this.#breaker.admit()
    const credential = options.isAnonymous ? {} : await credentialHeaders(this.credential, request.url)
    const response = await this.#sent({ ...request, headers: { ...request.headers, ...credential } }, options.signal)
    const headers = inOurWords(response.headers, this.vendor)
    this.limitsSeen.note(headers, this.clock.now())
    if (response.status >= 200 && response.status < 300) return { ...response, headers }
    this.#breaker.failed(true)
    if (response.status >= 400) return { ...response, headers }
    response.discard()
    throw new ClientError('redirected', 'The service answered by a redirect, which is not followed.', { wasSent: true })
  }

  /** Reads an answer without success as the error that it is. */
  async errorOf(operation: Operation | null, response: WireResponse): Promise<ServiceError> {
    const body = await readJson(response, errorBytes)
    const error = readError(operation, { status: response.status, body, headers: response.headers }, this.vendor)
    if (error.kind === 'FAILED_REQUESTS') this.#breaker.blocked()
    return error
  }

  /** A download that carries no credential; only https, or the service's own origin. */
  async download(url: string, headers: Record<string, string>, signal?: AbortSignal): Promise<WireResponse> {
    const target = URL.canParse(url) ? new URL(url) : null
    if (!target || (target.protocol !== 'https:' && target.origin !== this.address.origin)) {
      throw new ClientError('not-allowed', 'The download address is not https.', { wasSent: false })
    }
    return this.#wire({ method: 'GET', url, headers, signal })
  }

  async close(): Promise<void> {
    await this.#closeWire()
  }

  async #sent(request: Parameters<Wire>[0], signal: AbortSignal | undefined): Promise<WireResponse> {
    try {
      return await this.#wire({ ...request, signal })
    } catch (error) {
      if (error instanceof ClientError) this.#breaker.failed(false)
      throw error
    }
  }

  /** A response with success; everything else is thrown. */
  async #answered<O extends Operation>(operation: O, call: CallOf<O>, options: CallOptions): Promise<WireResponse> {
    const request = writeRequest(this.address.baseUrl, operation, call, this.vendor)
    // A header that an operation does not need is not sent: nobody has to know who asks for a list of models.
    const isAnonymous = operation.auth.length === 0
    const response = await this.exchange(request, { signal: options.signal, isAnonymous })
    if (response.status >= 200 && response.status < 300) return response
    throw await this.errorOf(operation, response)
  }

  async #json<O extends Operation>(operation: O, response: WireResponse): Promise<ClientAnswer<O>> {
    const body = fromVendor(await readJson(response, answerBytes), this.vendor)
    const schema = operation.answer.json
    const answer = schema ? readLeniently(schema, body) : null
    if (answer === null)
      throw new ClientError('unreadable', 'The answer is not what the contract says.', { wasSent: true })
    return { answer: answer as AnswerOf<O>, headers: answerHeaders(response.headers, this.clock.now()) }
  }

  /** A call that the limits would refuse waits for the next window instead of spending a failure, if that comes in time. */
  async #waitForWindow(call: object, { signal, retryBudgetMs: budgetMs = retryBudgetMs }: CallOptions): Promise<void> {
    const model = (call as { body?: { model?: unknown } }).body?.model
    const waitMs = typeof model === 'string' ? this.limitsSeen.waitMs(model, this.clock.now()) : 0
    if (waitMs > 0 && waitMs <= budgetMs) await (this.#options.pause ?? waitFor)(waitMs, signal)
  }

  #repeating<Result>(operation: Operation, options: CallOptions, attempt: () => Promise<Result>): Promise<Result> {
    return withRetry(attempt, {
      callClass: classOf(operation),
      signal: options.signal,
      clock: this.clock,
      budgetMs: options.retryBudgetMs ?? retryBudgetMs,
      ...(options.attempts === undefined ? {} : { attempts: options.attempts }),
      ...(this.#options.random ? { random: this.#options.random } : {}),
      ...(this.#options.pause ? { pause: this.#options.pause } : {}),
    })
  }
}

const mimeTypeOf = (headers: Headers): string =>
  (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
