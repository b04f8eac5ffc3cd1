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
