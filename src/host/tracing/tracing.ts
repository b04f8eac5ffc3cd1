import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { ServiceError } from '#contract/errors/service-error.ts'
import { optionalPackage } from '../packages.ts'

/** What goes along with a request wherever its work is done, without a place in every call. */
export interface RequestContext {
  requestId: string
  /** What the caller said of its trace (W3C Trace Context); null where it said nothing that counts. */
  trace: Trace | null
  /** The calling account, once known; null for an unauthenticated caller. */
  account: string | null
  /** Attempts at upstreams beyond the first. */
  retries: number
  /** Of the trace that the request is recorded in, for the log; absent where none records it. */
  traceId?: string
}

interface Trace {
  /** 32 hexadecimal digits. */
  id: string
  /** Of the caller's own span: 16 hexadecimal digits. */
  parentId: string
  /** Two hexadecimal digits; whether the caller records it. */
  flags: string
  /** What others want handed on with it; empty for none. */
  state: string
}

const storage = new AsyncLocalStorage<RequestContext>()

export const inRequest = <Value>(context: RequestContext, run: () => Value): Value => storage.run(context, run)

/** Null for an unauthenticated caller and outside a request. */
export const callingAccount = (): string | null => storage.getStore()?.account ?? null

export function noteRetry(): void {
  const context = storage.getStore()
  if (context) context.retries++
}

/** Of version 00, which later ones begin with; the trace and the parent are not all zeros. */
const traceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** As the recommendation asks for: longer ones may be left out. */
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

/** What tells an upstream which request it works for; nothing outside of one. */
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

/** Facts of a span: ids, counts and names that the operator chose; never a secret, a prompt or an address. */
type SpanFacts = Readonly<Record<string, string | number>>

/** The API keeps one SDK for the process, so there is one of these as well; null until a service was opened. */
let opened: OpenTelemetry | null = null

const current = new AsyncLocalStorage<Span>()

/** Spans are made from now on, where the package is there and an SDK is registered. */
export async function openTracing(): Promise<void> {
  opened ??= await loadOpenTelemetry()
}

/** OpenTelemetry's numbers of a span's kind and status. */
const serverKind = 1
const clientKind = 2
export const failedStatus = 2

/** A span of a request, beneath what its caller said of the trace; null where nothing is recorded. */
export function requestSpan(operation: string, trace: Trace | null, facts: SpanFacts): Span | null {
  if (!opened) return null
  const { trace: api, ROOT_CONTEXT: root } = opened
  const parent = trace && {
    ...{ traceId: trace.id, spanId: trace.parentId, traceFlags: Number.parseInt(trace.flags, 16), isRemote: true },
    ...(trace.state ? { traceState: opened.createTraceState(trace.state) } : {}),
  }
  return started(operation, serverKind, facts, parent ? api.setSpanContext(root, parent) : root)
}

/** The work of `run` as a span beneath the one that it is done in; outside of a recorded request only the work. */
export async function withSpan<Value>(name: string, facts: SpanFacts, run: () => Promise<Value>): Promise<Value> {
  const span = childSpan(name, facts)
  if (!span) return run()
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

/** Runs what is done later, and from elsewhere, in the span that this is called in. */
export function forThisSpan(): WithinSpan {
  const span = (opened && current.getStore()) ?? null
  return run => inSpan(span, run)
}

/** For work that ends elsewhere: the caller must end the span. */
export function childSpan(name: string, facts: SpanFacts): Span | null {
  const parent = opened && current.getStore()
  return opened && parent ? started(name, clientKind, facts, opened.trace.setSpan(opened.ROOT_CONTEXT, parent)) : null
}

/** What is done in `run` belongs to the span, for us and for instrumentations of others. */
export function inSpan<Value>(span: Span | null, run: () => Value): Value {
  if (!span || !opened) return run()
  return opened.context.with(opened.trace.setSpan(opened.ROOT_CONTEXT, span), () => current.run(span, run))
}

/** Only the error's kind is recorded: its message may contain untrusted text. */
export function spanFailed(span: Span | null, error: unknown): void {
  if (!span) return
  span.setAttribute(
    'error.type',
    error instanceof ServiceError ? error.kind : error instanceof Error ? error.name : 'error',
  )
  span.setStatus({ code: failedStatus })
}

/** The span that this is done in, as an upstream is told of it; null where none is recorded. */
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

/** What we use of `@opentelemetry/api`. It does nothing until the operator registers an SDK. */
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

/** Null where the package is not installed: then nothing is traced, and nothing is said. */
const loadOpenTelemetry = (): Promise<OpenTelemetry | null> =>
  optionalPackage<OpenTelemetry>('@opentelemetry/api', 'Traces').catch(() => null)
