import type { LimitedDemand } from '#access/limits/limit-rules.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { Clock } from '#contract/time.ts'
import { apiVersion } from '#contract/wire/base-url.ts'
import type { HeaderCodec } from '#contract/wire/header-codec.ts'
import { ownRequestId, requestId, requestTimestamp, timestamp, version } from '#contract/wire/headers.ts'
import { vendorHeader } from '#contract/wire/vendor.ts'
import type { Log } from '#host/log.ts'
import { type PulledBody, pulledBody } from '#host/pulled-body.ts'
import type { RequestContext } from '#host/tracing/tracing.ts'
import type { Principal } from '#ledger/accounts/principal.ts'

/** Writes an answer to the socket of its request, whole or in pieces. */
export type WriteAnswer = (
  status: number,
  headers: ReadonlyMap<string, string>,
  body: string | Uint8Array | PulledBody,
) => Response

/** One request and everything that its answer will carry, from the first header to the last byte. */
export class Exchange {
  readonly requestId: string
  /** The caller's address, as far as proxies are trusted. */
  readonly address: string
  /** Whether a proxy reports that it forwarded the request. */
  get isForwarded(): boolean {
    return ['x-forwarded-for', 'forwarded'].some(name => this.header(name).length > 0)
  }
  /**
   * Probes, and authenticated requests for metrics and operators' commands. They are never blocked, and their failures
   * start no block.
   */
  isExempt = false
  readonly signal: AbortSignal
  readonly #vendor: string
  readonly #requestHeaders: (name: string) => readonly string[]
  /** By lower-case name. Not a `Headers` object, in which twenty of them would cost 40 µs. */
  readonly #answerHeaders = new Map<string, string>()
  readonly #write: WriteAnswer | null
  readonly #cut: (() => void) | null
  readonly #whenEnded: (() => void)[] = []
  readonly #startedMs = performance.now()
  #isOver = false
  /** Status of the answer; 0 while there is none. */
  status = 0
  principal: Principal | null = null
  context: RequestContext | null = null
  /** The caller whose limits the answer reports; null outside the table of operations. */
  demand: LimitedDemand | null = null
  /** Work with an `Idempotency-Key` continues when its caller leaves, and its resources are kept until it ends. */
  outlivesCaller = false
  /** The exchange does not end with the last byte of its answer while its work continues unread. */
  outlivesAnswer = false

  constructor(options: {
    requestId: string
    address: string
    signal: AbortSignal
    /** Absent if all answers are sent as a web `Response`. */
    write?: WriteAnswer | null
    /** Closes the connection; absent if the answer has no socket of its own. */
    cut?: (() => void) | null
    vendor: string
    requestHeaders: (name: string) => readonly string[]
  }) {
    this.requestId = options.requestId
    this.address = options.address
    this.signal = options.signal
    this.#write = options.write ?? null
    this.#cut = options.cut ?? null
    this.#vendor = options.vendor
    this.#requestHeaders = options.requestHeaders
  }

  /** Returns every value of a request header, by its name in the contract's words. */
  header(name: string): readonly string[] {
    return this.#requestHeaders(vendorHeader(name, this.#vendor))
  }

  set<Value>(codec: HeaderCodec<Value>, value: Value): void {
    this.#answerHeaders.set(vendorHeader(codec.name, this.#vendor), codec.format(value))
  }

  setAll(headers: Readonly<Record<string, string>>): void {
    for (const name of Object.keys(headers))
      this.#answerHeaders.set(vendorHeader(name, this.#vendor), headers[name] ?? '')
  }

  /** Runs once, when the last byte of the answer has been sent, or when the caller has left and no work continues. */
  onEnd(run: () => void): void {
    this.#whenEnded.push(run)
  }

  /** Like `onEnd`, but runs at once if the answer is already over. */
  whenOver(run: () => void): void {
    if (this.#isOver) run()
    else this.onEnd(run)
  }

  /** Whole milliseconds since the request arrived. */
  ageMs(): number {
    return Math.round(performance.now() - this.#startedMs)
  }

  ended(): void {
    if (this.outlivesAnswer) return
    this.#isOver = true
    for (const run of this.#whenEnded.splice(0)) run()
  }

  left(): void {
    if (!this.outlivesCaller) this.ended()
  }

  /** Closes the connection of an answer that has no proper end; false if there is none. */
  cut(): boolean {
    this.#cut?.()
    return this.#cut !== null
  }

  get answerHeaders(): Map<string, string> {
    return this.#answerHeaders
  }

  /** Returns the answer with a body that may come in pieces. */
  response(body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | string | null, status = 200): Response {
    this.status = status
    return new Response(body, { status, headers: [...this.#answerHeaders] })
  }

  /** Returns the answer with a complete body. If it has a socket, it is written there at once, which is far cheaper. */
  wholeResponse(body: Uint8Array | string, status: number): Response {
    if (!this.#write) return this.response(body as Uint8Array<ArrayBuffer> | string, status)
    this.status = status
    this.#answerHeaders.set('content-length', String(Buffer.byteLength(body)))
    return this.#write(status, this.#answerHeaders, body)
  }

  /** Returns a 200 with a body in pieces. */
  streamed(body: PulledBody): Response {
    if (!this.#write) return this.response(pulledBody(body))
    this.status = 200
    return this.#write(200, this.#answerHeaders, body)
  }
}

/** Sets the headers that every answer has (brief §9). */
export function setCommonHeaders(exchange: Exchange, { clock }: { clock: Clock }): void {
  exchange.set(requestId, exchange.requestId)
  // Cloudflare sends its own id, and puts it into the answer too.
  if (exchange.header(requestId.name).length) exchange.set(ownRequestId, exchange.requestId)
  exchange.set(version, apiVersion)
  exchange.set(timestamp, clock.now())
  const sentAt = requestTimestamp.parse(exchange.header(requestTimestamp.name)[0] ?? '')
  if (sentAt !== null) exchange.set(requestTimestamp, sentAt)
  exchange.setAll({
    'cache-control': 'no-store',
    vary: 'Authorization, SIGN-IN-WITH-X, PAYMENT-SIGNATURE, Accept-Encoding',
    'x-content-type-options': 'nosniff',
  })
}

/**
 * Headers that decide where a request goes and what it is. If one is sent twice, a proxy may use one value and this
 * service the other. Credentials, payments and keys are checked where they are read.
 */
const singleHeaders = ['host', 'content-type'] as const

/** Throws 400 if one of them came more than once. */
export function requireSingleHeaders(exchange: Pick<Exchange, 'header'>): void {
  const name = singleHeaders.find(each => exchange.header(each).length > 1)
  if (name === undefined) return
  const message = `${name} was sent more than once; send it once.`
  throw fieldError([name], message)
}

/** Reported about a request once its last byte has been sent; contains no key, prompt or address. */
export interface EndedRequest {
  requestId: string
  /** The operation's id, or another name outside the table. */
  operation: string
  /** 0 if the caller left before there was an answer. */
  status: number
  ms: number
  /** Its last characters; null for unidentified callers. */
  account: string | null
  /** The account's id, the model and the engine, for the operators' console; they are not logged. */
  customer: string | null
  model: string | null
  engine: string | null
  traceId: string | null
  retries: number
  /** Whether the caller left before the end. */
  left: boolean
}

/** Enough to find an account in the ledger, too little to identify it. */
const accountCharacters = 8

export function endedRequest(operation: string, exchange: Exchange, context: RequestContext): EndedRequest {
  const account = exchange.principal?.account
  return {
    requestId: exchange.requestId,
    operation,
    status: exchange.status,
    ms: exchange.ageMs(),
    account: account === undefined ? null : `…${account.slice(-accountCharacters)}`,
    customer: account ?? null,
    model: exchange.demand?.model?.id ?? null,
    engine: context.upstream ?? null,
    traceId: context.traceId ?? context.trace?.id ?? null,
    retries: context.retries,
    left: exchange.signal.aborted,
  }
}

/** Polled every few seconds, so only failures are logged. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** Logs one line per request, without empty members. */
export function logRequest(log: Log, ended: EndedRequest): void {
  const { requestId, operation, status, ms, account, traceId, retries, left } = ended
  if (status < 400 && probes.has(operation)) return
  const facts: Partial<EndedRequest> = { requestId, operation, status, ms }
  if (account) facts.account = account
  if (traceId) facts.traceId = traceId
  if (retries) facts.retries = retries
  if (left) facts.left = left
  log.info(facts, 'A request ended.')
}
