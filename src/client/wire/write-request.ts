import { bodyTypesOf, type CallOf, isPaid, type Operation } from '#contract/operations/operation.ts'
import { idempotencyKey as keyHeader, wantReceipt } from '#contract/wire/headers.ts'
import { toVendor } from '#contract/wire/vendor.ts'
import { ClientError } from '../client-error.ts'

export interface WrittenRequest {
  method: string
  url: string
  headers: Record<string, string>
  body?: string | Uint8Array
}

/**
 * Writes a call as the vendor expects it: a JSON body, or a form if it contains a file. Values are sent unchanged,
 * because the service validates them. Throws `not-allowed` for an invalid key.
 */
export async function writeRequest<O extends Operation>(
  baseUrl: string,
  operation: O,
  call: CallOf<O>,
  vendor: string,
  key?: string,
): Promise<WrittenRequest> {
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
  const written = isForm(operation, body) ? await formOf(body as object) : jsonOf(toVendor(body, vendor))
  return {
    method: operation.method,
    url,
    headers: { ...headers, 'content-type': written.type },
    body: written.body,
  }
}

const jsonOf = (body: unknown) => ({ type: 'application/json', body: JSON.stringify(body) })

/** If an operation accepts both, a form is used only for files: JSON keeps the types of values. */
function isForm(operation: Operation, body: unknown): boolean {
  const types = bodyTypesOf(operation)
  if (!types.includes('multipart')) return false
  return !types.includes('json') || Object.values(body as object).some(value => [value].flat().some(isFile))
}

const isFile = (value: unknown): boolean => value instanceof Blob

/** Written once, so that every attempt has the same bytes, including the boundary. */
async function formOf(body: object): Promise<{ type: string; body: Uint8Array }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    for (const each of [value].flat()) {
      if (each instanceof Blob) form.append(name, each)
      else if (each !== undefined) form.append(name, String(each))
    }
  }
  const whole = new Response(form)
  return { type: whole.headers.get('content-type') ?? '', body: new Uint8Array(await whole.arrayBuffer()) }
}

function keyHeaderOf(key: string): Record<string, string> {
  if (keyHeader.parse(key) !== null) return { [keyHeader.name]: key }
  throw new ClientError('not-allowed', 'An idempotency key must have 1 to 255 characters of A–Z a–z 0–9 _ and -.', {
    wasSent: false,
  })
}
