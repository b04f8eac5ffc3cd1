import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { ServiceError } from '#contract/errors/service-error.ts'
import { optionalPackage } from '../packages.ts'

/** Context that follows a request through all of its work, without being passed in every call. */
export interface RequestContext {
  requestId: string
  /** The caller's trace (W3C Trace Context); null if it sent no valid one. */
  trace: Trace | null
  /** The calling account, once known; null for an unauthenticated caller. */
  account: string | null
  /** Attempts at upstreams beyond the first. */
  retries: number
  /** The upstream that was tried last, by the operator's name for it; absent before the first. */
  upstream?: string
  /** The trace in which the request is recorded, for the log; absent if it is not recorded. */
  traceId?: string
}

interface Trace {
  /** 32 hexadecimal digits. */
  id: string
  /** The caller's own span: 16 hexadecimal digits. */
  parentId: string
  /** Two hexadecimal digits; whether the caller records the trace. */
  flags: string
  /** State of other vendors to pass on; empty if there is none. */
  state: string
}

const storage = new AsyncLocalStorage<RequestContext>()

export const inRequest = <Value>(context: RequestContext, run: () => Value): Value => storage.run(context, run)

/** Returns null for an unauthenticated caller and outside a request. */
export const callingAccount = (): string | null => storage.getStore()?.account ?? null

/** The account of a caller that was identified by other means than the API's, such as the session of a page. */
export function noteAccount(account: string): void {
  const context = storage.getStore()
  if (context) context.account = account
}

export function noteRetry(): void {
  const context = storage.getStore()
  if (context) context.retries++
}

export function noteUpstream(name: string): void {
  const context = storage.getStore()
  if (context) context.upstream = name
}

/** Version 00, with which later ones begin; the trace and parent ids must not be all zeros. */
const traceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The recommendation's minimum; longer values may be dropped. */
const traceStateCharacters = 512

export function traceOf(header: (name: string) => readonly string[]): Trace | null {
  const [parent, ...more] = header('traceparent')
  const [, id, parentId, flags] = traceparent.exec(parent ?? '') ?? []
  if (id === undefined || parentId === undefined || flags === undefined || more.length) return null
  const state = header('tracestate').join(',')
  return {
    id,
    parentId,
    flags,
    state: state.length <= traceStateCharacters && /^[\x20-\x7e]*$/.test(state) ? state : '',
  }
}

/** Returns the headers that tell an upstream which request it works for; none outside a request. */
export function upstreamHeaders(): Record<string, string> {
  const context = storage.getStore()
  if (!context) return {}
  const { requestId, trace } = context
  const span = currentSpan()
  const state: Record<string, string> = trace?.state ? { tracestate: trace.state } : {}
  if (span)
    return { 'x-request-id': requestId, traceparent: `00-${span.traceId}-${span.spanId}-${span.flags}`, ...state }
  if (!trace) return { 'x-request-id': requestId }
  const spanId = randomBytes(8).toString('hex')
  return { 'x-request-id': requestId, traceparent: `00-${trace.id}-${spanId}-${trace.flags}`, ...state }
}

/** Attributes of a span: ids, counts and names that the operator chose; never a secret, a prompt or an address. */
type SpanFacts = Readonly<Record<string, string | number>>

/** The API keeps one SDK per process, so there is one of these too; null until a service was opened. */
let opened: OpenTelemetry | null = null

const current = new AsyncLocalStorage<Span>()

/** Creates spans from now on, if the package is installed and an SDK is registered. */
export async function openTracing(): Promise<void> {
  opened ??= await loadOpenTelemetry()
}

/** OpenTelemetry's numeric constants for a span's kind and status. */
const serverKind = 1
const clientKind = 2
export const failedStatus = 2

/** Starts a span for a request, as a child of the caller's; null if nothing is recorded. */
export function requestSpan(operation: string, trace: Trace | null, facts: SpanFacts): Span | null {
  if (!opened) return null
  const { trace: api, ROOT_CONTEXT: root } = opened
  const parent = trace && {
    ...{ traceId: trace.id, spanId: trace.parentId, traceFlags: Number.parseInt(trace.flags, 16), isRemote: true },
    ...(trace.state ? { traceState: opened.createTraceState(trace.state) } : {}),
  }
  return started(operation, serverKind, facts, parent ? api.setSpanContext(root, parent) : root)
}

/** Runs `run` as a child span of the current one; outside a recorded request it only runs it. */
export function withSpan<Value>(name: string, facts: SpanFacts, run: () => Promise<Value>): Promise<Value> {
  const span = childSpan(name, facts)
  return span ? recorded(span, run) : run()
}

async function recorded<Value>(span: Span, run: () => Promise<Value>): Promise<Value> {
  try {
    return await inSpan(span, run)
  } catch (error) {
    spanFailed(span, error)
    throw error
  } finally {
    span.end()
  }
}

export type WithinSpan = <Value>(run: () => Value) => Value

/** Returns a function that runs later work, called from elsewhere, in the current span. */
export function forThisSpan(): WithinSpan {
  const span = (opened && current.getStore()) ?? null
  return run => inSpan(span, run)
}

/** For work that ends elsewhere: the caller must end the span. */
export function childSpan(name: string, facts: SpanFacts): Span | null {
  const parent = opened && current.getStore()
  return opened && parent ? started(name, clientKind, facts, opened.trace.setSpan(opened.ROOT_CONTEXT, parent)) : null
}

/** Makes the span current during `run`, for us and for other instrumentation. */
export function inSpan<Value>(span: Span | null, run: () => Value): Value {
  if (!span || !opened) return run()
  return opened.context.with(opened.trace.setSpan(opened.ROOT_CONTEXT, span), () => current.run(span, run))
}

/** Records only the error's kind, because its message may contain untrusted text. */
export function spanFailed(span: Span | null, error: unknown): void {
  if (!span) return
  span.setAttribute(
    'error.type',
    error instanceof ServiceError ? error.kind : error instanceof Error ? error.name : 'error',
  )
  span.setStatus({ code: failedStatus })
}

/** Returns the current span as reported to an upstream; null if none is recorded. */
function currentSpan(): { traceId: string; spanId: string; flags: string } | null {
  const span = opened && current.getStore()
  return span ? idsOf(span) : null
}

export function idsOf(span: Span): { traceId: string; spanId: string; flags: string } {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return { traceId, spanId, flags: traceFlags.toString(16).padStart(2, '0') }
}

function started(name: string, kind: number, facts: SpanFacts, context: object): Span | null {
  const span = opened?.trace.getTracer('farebox').startSpan(name, { kind, attributes: facts }, context)
  return span?.isRecording() ? span : null
}

/** The part of `@opentelemetry/api` that we use. It does nothing until the operator registers an SDK. */
interface SpanContext {
  traceId: string
  spanId: string
  traceFlags: number
}

export interface Span {
  spanContext(): SpanContext
  isRecording(): boolean
  setAttribute(name: string, value: string | number): unknown
  setStatus(status: { code: number }): unknown
  end(): void
}

interface OpenTelemetry {
  ROOT_CONTEXT: object
  createTraceState(text: string): object
  context: { with<Value>(context: object, run: () => Value): Value }
  trace: {
    getTracer(name: string): { startSpan(name: string, options: object, context: object): Span }
    setSpan(context: object, span: Span): object
    setSpanContext(context: object, parent: object): object
  }
}

/** Null if the package is not installed: then nothing is traced, silently. */
const loadOpenTelemetry = (): Promise<OpenTelemetry | null> =>
  optionalPackage<OpenTelemetry>('@opentelemetry/api', 'Traces').catch(() => null)
