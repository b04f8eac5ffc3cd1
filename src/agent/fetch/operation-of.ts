import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'

/**
 * The operation of a request to the service at `baseUrl`; null where the contract has none at that address. Whatever way
 * a path is spelt that some service may take for the same one is taken for it here too, because a price hangs on it.
 */
export function operationOf(baseUrl: string, method: string, url: string): Operation | null {
  return operationAt(askedPath(baseUrl, url), method)
}

/**
 * The path of the contract whose words are those of a request, but for their number: `/image/edit` for the `/images/edits`
 * of other services. Null where there is none.
 */
export function pathMeant(baseUrl: string, method: string, url: string): string | null {
  const inSingular = (segments: readonly string[]) => segments.map(segment => segment.replace(/s$/, ''))
  return operationAt(askedPath(baseUrl, url), method, inSingular)?.path ?? null
}

type Segments = readonly string[]

/** Behind the address of the service; null of a request that goes elsewhere. */
function askedPath(baseUrl: string, url: string): Segments | null {
  const base = segmentsOf(new URL(baseUrl).pathname)
  const asked = segmentsOf(new URL(url).pathname)
  return isSame(base, asked.slice(0, base.length)) ? asked.slice(base.length) : null
}

function operationAt(
  asked: Segments | null,
  method: string,
  compared: (segments: Segments) => Segments = segments => segments,
): Operation | null {
  if (asked === null) return null
  const found = operations.find(
    (operation: Operation) =>
      operation.method === method.toUpperCase() &&
      [operation.path, operation.aliasPath].some(
        path => path !== undefined && isSame(compared(segmentsOf(path)), compared(asked)),
      ),
  )
  return found ?? null
}

const segmentsOf = (path: string): string[] =>
  path
    .split('/')
    .filter(segment => segment !== '')
    .map(segment => decoded(segment).toLowerCase())

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Parameters such as `{id}` stand for one segment. */
const isSame = (pattern: Segments, segments: Segments): boolean =>
  pattern.length === segments.length && pattern.every((part, index) => part.startsWith('{') || part === segments[index])
