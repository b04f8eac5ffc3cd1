import { AsyncLocalStorage } from 'node:async_hooks'
import { ServiceError } from '#contract/errors/service-error.ts'
import { loadOpenTelemetry, type OpenTelemetry, type Span } from './open-telemetry.ts'
import type { Trace } from './request-context.ts'

/** Facts of a span: ids, counts and names that the operator chose; never a secret, a prompt or an address. */
export type SpanFacts = Readonly<Record<string, string | number>>

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

/** For work that ends elsewhere: whoever starts it ends it. */
export function childSpan(name: string, facts: SpanFacts): Span | null {
  const parent = opened && current.getStore()
  return opened && parent ? started(name, clientKind, facts, opened.trace.setSpan(opened.ROOT_CONTEXT, parent)) : null
}

/** What is done in `run` belongs to the span, for us and for instrumentations of others. */
export function inSpan<Value>(span: Span | null, run: () => Value): Value {
  if (!span || !opened) return run()
  return opened.context.with(opened.trace.setSpan(opened.ROOT_CONTEXT, span), () => current.run(span, run))
}

/** By its kind alone: words of an error may be somebody else's. */
export function spanFailed(span: Span | null, error: unknown): void {
  if (!span) return
  span.setAttribute(
    'error.type',
    error instanceof ServiceError ? error.kind : error instanceof Error ? error.name : 'error',
  )
  span.setStatus({ code: failedStatus })
}

/** The span that this is done in, as an upstream is told of it; null where none is recorded. */
export function currentSpan(): { traceId: string; spanId: string; flags: string } | null {
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
