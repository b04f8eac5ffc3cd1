import type { Log } from '#host/log.ts'
import type { RequestContext } from '#host/tracing/request-context.ts'
import type { Exchange } from './exchange.ts'

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

/** Enough to find an account in the books, too little to be one. */
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
