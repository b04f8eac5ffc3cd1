import type { CallOf, Operation } from '#contract/operation.ts'
import { toVendor } from '#contract/vendor.ts'

export interface WrittenRequest {
  method: string
  url: string
  headers: Record<string, string>
  body?: string
}

/** A call as it goes on the wire of a vendor. Values are written as they are; the service checks them. */
export function writeRequest<O extends Operation>(
  baseUrl: string,
  operation: O,
  call: CallOf<O>,
  vendor: string,
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
  if (body === undefined) return { method: operation.method, url, headers: { accept } }
  return {
    method: operation.method,
    url,
    headers: { accept, 'content-type': 'application/json' },
    body: JSON.stringify(toVendor(body, vendor)),
  }
}
