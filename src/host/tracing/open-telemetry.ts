import { optionalPackage } from '../optional-package.ts'

/** What we use of `@opentelemetry/api`. Without an SDK that somebody registered, all of it does nothing. */
export interface SpanContext {
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

export interface OpenTelemetry {
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
export const loadOpenTelemetry = (): Promise<OpenTelemetry | null> =>
  optionalPackage<OpenTelemetry>('@opentelemetry/api', 'Traces').catch(() => null)
