import type { LimitedDemand } from '#access/limits/limit-rules.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { Clock } from '#contract/time.ts'
import { apiVersion } from '#contract/wire/base-url.ts'
import type { HeaderCodec } from '#contract/wire/header-codec.ts'
import { requestId, requestTimestamp, timestamp, version } from '#contract/wire/headers.ts'
import { vendorHeader } from '#contract/wire/vendor.ts'
import type { Log } from '#host/log.ts'
import type { RequestContext } from '#host/tracing/tracing.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { type PulledBody, pulledBody } from './body/pulled-body.ts'

/** Writes an answer to the socket that its request came by: whole, or in the pieces of a body. */
export type WriteAnswer = (
  status: number,
  headers: Record<string, string>,
  body: string | Uint8Array | PulledBody,
) => Response

/** One request and what its answer will carry, from the first header to the last byte. */
export class Exchange {
  readonly requestId: string
  /** The caller's, as far as proxies are trusted. */
  readonly address: string
  /** Whether a proxy says that it passed the request on. */
  get isForwarded(): boolean {
    return ['x-forwarded-for', 'forwarded'].some(name => this.header(name).length > 0)
  }
  /** Probes, and figures and operators' commands with their token: no block refuses them, and their failures start none. */
  isExempt = false
  readonly signal: AbortSignal
  readonly #vendor: string
  readonly #requestHeaders: (name: string) => readonly string[]
  /** By their names in lower case. No `Headers`: twenty of them cost 40 µs there. */
  readonly #answerHeaders = new Map<string, string>()
  readonly #write: WriteAnswer | null
  readonly #cut: (() => void) | null
  readonly #whenEnded: (() => void)[] = []
  readonly #startedMs = performance.now()
  #isOver = false
  /** Of the answer; 0 while there is none. */
  status = 0
  principal: Principal | null = null
  context: RequestContext | null = null
  /** Whose limits the answer tells; null outside of the operations table. */
  demand: LimitedDemand | null = null
  /** Work under an `Idempotency-Key` goes on when its caller leaves, and what it holds is kept until its end. */
  outlivesCaller = false
  /** Nor has it ended with the last byte of its answer while its work goes on unread. */
  outlivesAnswer = false

  constructor(options: {
    requestId: string
    address: string
    signal: AbortSignal
    /** Absent where all answers go out as a web `Response`. */
    write?: WriteAnswer | null
    /** Breaks the connection off; absent where the answer has no socket of its own. */
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

  /** Every value of a request header, in the words of the contract. */
  header(name: string): readonly string[] {
    return this.#requestHeaders(vendorHeader(name, this.#vendor))
  }

  set<Value>(codec: HeaderCodec<Value>, value: Value): void {
    this.#answerHeaders.set(vendorHeader(codec.name, this.#vendor), codec.format(value))
  }

  setAll(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers))
      this.#answerHeaders.set(vendorHeader(name, this.#vendor), value)
  }

  /** Runs when the last byte of the answer has left, or the caller has and nothing goes on; once. */
  onEnd(run: () => void): void {
    this.#whenEnded.push(run)
  }

  /** The same for what has to be told even of an answer that is over by now. */
  whenOver(run: () => void): void {
    if (this.#isOver) run()
    else this.onEnd(run)
  }

  /** Whole milliseconds since it came. */
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

  /** Breaks the connection off, for an answer that has no proper end; false where there is none. */
  cut(): boolean {
    this.#cut?.()
    return this.#cut !== null
  }

  get answerHeaders(): Map<string, string> {
    return this.#answerHeaders
  }

  /** The answer with a body that may come in pieces. */
  response(body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | string | null, status = 200): Response {
    this.status = status
    return new Response(body, { status, headers: [...this.#answerHeaders] })
  }

  /** The answer with a body that is there. Where the socket is ours it is written at once, which is far cheaper. */
  wholeResponse(body: Uint8Array<ArrayBuffer> | string, status: number): Response {
    if (!this.#write) return this.response(body, status)
    this.status = status
    return this.#write(status, Object.fromEntries(this.#answerHeaders), body)
  }

  /** A 200 in the pieces of a body. */
  streamed(body: PulledBody): Response {
    if (!this.#write) return this.response(pulledBody(body))
    this.status = 200
    return this.#write(200, Object.fromEntries(this.#answerHeaders), body)
  }
}

/** What every answer has (brief §9), whatever it is. */
export function setCommonHeaders(exchange: Exchange, { clock }: { clock: Clock }): void {
  exchange.set(requestId, exchange.requestId)
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
 * Headers that say where a request goes and what it is. Sent twice, a proxy may go by one and this service by the other.
 * Credentials, payments and keys are looked at where they are read.
 */
const singleHeaders = ['host', 'content-type'] as const

/** Throws 400 where one of them came more than once. */
export function requireSingleHeaders(exchange: Pick<Exchange, 'header'>): void {
  const name = singleHeaders.find(each => exchange.header(each).length > 1)
  if (name === undefined) return
  const message = `${name} was sent more than once; send it once.`
  throw fieldError([name], message)
}

/** What is told of a request once its last byte has left; no key, prompt or address. */
export interface EndedRequest {
  requestId: string
  /** The operation's id, or what else was asked. */
  operation: string
  /** 0 where the caller left before there was an answer. */
  status: number
  ms: number
  /** Its last characters; null for strangers. */
  account: string | null
  traceId: string | null
  retries: number
  /** Whether the caller left before the end. */
  left: boolean
}

/** Enough to find an account in the ledger, too little to be one. */
const accountCharacters = 8

export function endedRequest(operation: string, exchange: Exchange, context: RequestContext): EndedRequest {
  const account = exchange.principal?.account
  return {
    requestId: exchange.requestId,
    operation,
    status: exchange.status,
    ms: exchange.ageMs(),
    account: account === undefined ? null : `…${account.slice(-accountCharacters)}`,
    traceId: context.traceId ?? context.trace?.id ?? null,
    retries: context.retries,
    left: exchange.signal.aborted,
  }
}

/** Asked every few seconds; only their failures are news. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** One line a request, without what there is nothing to say of. */
export function logRequest(log: Log, { traceId, retries, left, account, ...facts }: EndedRequest): void {
  if (facts.status < 400 && probes.has(facts.operation)) return
  const more = { ...(account ? { account } : {}), ...(traceId ? { traceId } : {}), ...(retries ? { retries } : {}) }
  log.info({ ...facts, ...more, ...(left ? { left } : {}) }, 'A request ended.')
}
