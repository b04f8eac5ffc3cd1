/** What went wrong without an answer of the contract. */
export type ClientErrorKind =
  /** Nothing was sent: refused, no such host, no TLS. */
  | 'unreachable'
  /** Something was sent and no whole answer came. */
  | 'no-answer'
  /** A 3xx: a credential is never carried to another address. */
  | 'redirected'
  /** The answer does not match the API description. */
  | 'unreadable'
  | 'too-large'
  /** The disk has no room for what would come. */
  | 'no-space'
  /** It came, and could not be written down here. */
  | 'unsaved'
  /** Too many failures just now; nothing was sent, so that the service does not block this caller. */
  | 'breaker-open'
  /** The service's limits leave no room in the time that a call may wait; nothing was sent, because it would be refused. */
  | 'limit-reached'
  /** An address, an option or a credential that this client does not use. */
  | 'not-allowed'

/** A failure without a `ServiceError`. The message is ours; untrusted text is only in `cause`. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly kind: ClientErrorKind
  /** Whether the service may have seen the request. */
  readonly wasSent: boolean
  /** Unix time in milliseconds from which it is worth coming again. */
  readonly retryAtMs: number | null

  constructor(
    kind: ClientErrorKind,
    message: string,
    { wasSent, retryAtMs = null, cause }: { wasSent: boolean; retryAtMs?: number | null; cause?: unknown },
  ) {
    super(message, { cause })
    this.kind = kind
    this.wasSent = wasSent
    this.retryAtMs = retryAtMs
  }
}
