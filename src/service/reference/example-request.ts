import { type Example, ExampleFile } from '#contract/operations/examples.ts'
import { bodyTypesOf, type Operation, readsKey } from '#contract/operations/operation.ts'

export interface ExampleRequest {
  method: string
  /** Below the base URL, with parameters and query. */
  path: string
  /** JSON, or the fields of a form. */
  body: { json: unknown } | { form: readonly (readonly [name: string, value: string | ExampleFile])[] } | null
}

export function exampleRequest(operation: Operation, { params, query, body }: Example): ExampleRequest {
  const given = params as Readonly<Record<string, string>> | undefined
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(given?.[name] ?? name))
  const search = new URLSearchParams(
    Object.entries(query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return {
    method: operation.method,
    path: search.size > 0 ? `${path}?${search}` : path,
    body: body === undefined ? null : bodyOf(operation, body),
  }
}

function bodyOf(operation: Operation, body: unknown): ExampleRequest['body'] {
  if (bodyTypesOf(operation).includes('json')) return { json: body }
  const fields = Object.entries(body as Readonly<Record<string, unknown>>)
  return { form: fields.map(([name, value]) => [name, value instanceof ExampleFile ? value : String(value)] as const) }
}

/** The example as a command, with `$FAREBOX_KEY` where a key is needed. */
export function curlCommand(operation: Operation, base: string, { method, path, body }: ExampleRequest): string {
  const parts = [method === 'GET' ? `curl ${quoted(base + path)}` : `curl -X ${method} ${quoted(base + path)}`]
  if (operation.auth.includes('apiKey')) parts.push('-H "Authorization: Bearer $FAREBOX_KEY"')
  else if (operation.auth.includes('wallet')) parts.push('-H "SIGN-IN-WITH-X: $SIGN_IN"')
  if (body && 'json' in body) {
    parts.push(`-H ${quoted('Content-Type: application/json')}`, `-d ${quoted(JSON.stringify(body.json, null, 2))}`)
  }
  if (body && 'form' in body) {
    for (const [name, value] of body.form)
      parts.push(`-F ${quoted(`${name}=${value instanceof ExampleFile ? `@${value.name}` : value}`)}`)
  }
  if (answersBytes(operation)) parts.push('-o answer')
  return parts.join(' \\\n  ')
}

/** Whether the example's answer is a file instead of JSON. */
const answersBytes = ({ answer }: Operation): boolean => answer.bytes !== undefined && answer.json === undefined

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The accepted credentials, as a sentence. */
export function credentialsOf(operation: Operation): string {
  if (operation.adminKey) return 'An API key with the role ADMIN.'
  if (operation.auth.length === 2) return 'An API key, or a wallet sign-in.'
  if (operation.auth[0] === 'apiKey') return 'An API key.'
  if (operation.auth[0] === 'wallet') return 'A wallet sign-in.'
  return readsKey(operation) ? 'None; with an API key, its own limits apply.' : 'None.'
}
