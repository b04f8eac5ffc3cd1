import { idempotencyKey as keyHeader, wantReceipt } from '#contract/headers.ts'
import { type CallOf, isPaid, type Operation } from '#contract/operation.ts'
import { toVendor } from '#contract/vendor.ts'
import { ClientError } from './client-error.ts'

export interface WrittenRequest {
  method: string
  url: string
  headers: Record<string, string>
  body?: string
}

/** A call as it goes on the wire of a vendor. Values are written as they are; the service checks them. Throws `not-allowed` for a key of another form. */
export function writeRequest<O extends Operation>(
  baseUrl: string,
  operation: O,
  call: CallOf<O>,
  vendor: string,
  key?: string,
): WrittenRequest {
  const { params, query, body } = call as { params?: object; query?: object; body?: unknown }
  const given = new Map(Object.entries(params ?? {}))
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(given.get(name) ?? '')),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, String(value))
  const url = `${baseUrl}${path}${search.size > 0 ? `?${search}` : ''}`
  const accept = operation.answer.bytes ? `application/json, ${operation.answer.bytes}` : 'application/json'
  const wanted = isPaid(operation) ? { [wantReceipt.name]: wantReceipt.format(true) } : {}
  const headers = { accept, ...wanted, ...(key !== undefined && keyHeaderOf(key)) }
  if (body === undefined) return { method: operation.method, url, headers }
  return {
    method: operation.method,
    url,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(toVendor(body, vendor)),
  }
}

function keyHeaderOf(key: string): Record<string, string> {
  if (keyHeader.parse(key) !== null) return { [keyHeader.name]: key }
  throw new ClientError('not-allowed', 'An idempotency key is 1 to 255 characters of A–Z a–z 0–9 _ and -.', {
    wasSent: false,
  })
}
