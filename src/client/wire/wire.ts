/** One HTTP exchange, nothing more: no redirect, no retry, no cookie, no cache. */
export type Wire = (request: WireRequest) => Promise<WireResponse>

export interface WireRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body?: string | Uint8Array | undefined
  signal?: AbortSignal | undefined
}

export interface WireResponse {
  status: number
  headers: Headers
  body: AsyncIterable<Uint8Array>
  /** Lets go of a body that is not read. */
  discard(): void
}
