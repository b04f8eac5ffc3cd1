import { sendJson } from './page-guards.ts'

/** Why the server of a page refused a request, and what the user can do. */
export class PageRefusal extends Error {
  override readonly name = 'PageRefusal'
  readonly status: number
  readonly happened: string
  readonly next: string
  /** Sent as Retry-After; null where waiting does not help. */
  readonly retryAfterSeconds: number | null

  constructor(status: number, happened: string, next: string, retryAfterSeconds: number | null = null) {
    super(`${happened} ${next}`)
    this.status = status
    this.happened = happened
    this.next = next
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The answer with a refusal. */
export function refused(status: number, happened: string, next: string, retryAfterSeconds: number | null = null) {
  const response = sendJson(status, { happened, next })
  if (retryAfterSeconds !== null) response.headers.set('retry-after', `${retryAfterSeconds}`)
  return response
}

export const refusedBy = ({ status, happened, next, retryAfterSeconds }: PageRefusal): Response =>
  refused(status, happened, next, retryAfterSeconds)

export const mustWait = (seconds: number, happened: string): Response =>
  refused(429, happened, `Wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'}, then try again.`, seconds)
