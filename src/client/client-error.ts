/** Failures without an answer from the contract. */
export type ClientErrorKind =
  /** Nothing was sent: connection refused, unknown host, TLS failure. */
  | 'unreachable'
  /** The request was sent, and no complete answer came back. */
  | 'no-answer'
  /** A 3xx. We don't follow redirects, because a credential must not reach another address. */
  | 'redirected'
  /** The answer does not match the API description. */
  | 'unreadable'
  | 'too-large'
  /** The disk has no room for the file. */
  | 'no-space'
  /** The file arrived but could not be written. */
  | 'unsaved'
  /** Too many recent failures. Nothing was sent, so that the service does not block this caller. */
  | 'breaker-open'
  /**
   * The service's limits leave no room within the time that a call may wait. Nothing was sent, because it would be
   * refused.
   */
  | 'limit-reached'
  /** An address, option or credential that this client does not accept. */
  | 'not-allowed'

/** A failure without a `ServiceError`. The message is ours; untrusted text is only in `cause`. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly kind: ClientErrorKind
  /** Whether the service may have seen the request. */
  readonly wasSent: boolean
  /** Unix time in milliseconds after which a retry makes sense. */
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
