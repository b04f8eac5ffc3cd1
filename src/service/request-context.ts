import { AsyncLocalStorage } from 'node:async_hooks'

/** What goes along with a request wherever its work is done, without a place in every call. */
export interface RequestContext {
  /** 32 hexadecimal digits (W3C Trace Context). */
  traceId: string
  /** Two hexadecimal digits; whether whoever began the trace records it. */
  traceFlags: string
  /** Attempts at upstreams beyond the first. */
  retries: number
}

const storage = new AsyncLocalStorage<RequestContext>()

export const inRequest = <Value>(context: RequestContext, run: () => Value): Value => storage.run(context, run)

/** Undefined where no request is answered, as for a job that is followed. */
export const currentRequest = (): RequestContext | undefined => storage.getStore()

export function noteRetry(): void {
  const context = storage.getStore()
  if (context) context.retries++
}
