import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { currentSpan } from './spans.ts'

/** What goes along with a request wherever its work is done, without a place in every call. */
export interface RequestContext {
  requestId: string
  /** What the caller said of its trace (W3C Trace Context); null where it said nothing that counts. */
  trace: Trace | null
  /** Whose call it is, once that is known; null for strangers. */
  account: string | null
  /** Attempts at upstreams beyond the first. */
  retries: number
  /** Of the trace that the request is recorded in, for the log; absent where none records it. */
  traceId?: string
}

export interface Trace {
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

/** Null for a stranger, and outside of a request. */
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
