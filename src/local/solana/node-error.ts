/** A refusal in a node's own terms. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The codes that clients know. */
export const nodeCodes = {
  invalidParams: -32602,
  methodNotFound: -32601,
  invalidRequest: -32600,
  preflightFailed: -32002,
  signatureFailed: -32003,
} as const
