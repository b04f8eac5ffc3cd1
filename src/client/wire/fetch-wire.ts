import { wireFailure } from './undici-wire.ts'
import type { Wire } from './wire.ts'

/** A wire over a given `fetch`: a service in the same process, or a caller's own. */
export const fetchWire =
  (fetch: (request: Request) => Response | Promise<Response>): Wire =>
  async ({ method, url, headers, body, signal }) => {
    const request = new Request(url, {
      method,
      headers: { ...headers },
      redirect: 'manual',
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit['body']> }),
      ...(signal ? { signal } : {}),
    })
    try {
      const response = await fetch(request)
      return {
        status: response.status,
        headers: response.headers,
        body: response.body ?? empty(),
        discard: () => void response.body?.cancel().catch(() => {}),
      }
    } catch (error) {
      signal?.throwIfAborted()
      throw wireFailure(error)
    }
  }

async function* empty(): AsyncGenerator<Uint8Array> {}
