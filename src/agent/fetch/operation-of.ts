import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'

/**
 * The operation of a request to the service at `baseUrl`; null where the contract has none at that address. Whatever way
 * a path is spelt that some service may take for the same one is taken for it here too, because a price hangs on it.
 */
export function operationOf(baseUrl: string, method: string, url: string): Operation | null {
  const base = segmentsOf(new URL(baseUrl).pathname)
  const asked = segmentsOf(new URL(url).pathname)
  if (!isSame(base, asked.slice(0, base.length))) return null
  const segments = asked.slice(base.length)
  return (
    operations.find(
      (operation: Operation) =>
        operation.method === method.toUpperCase() &&
        [operation.path, operation.aliasPath].some(path => path !== undefined && isSame(segmentsOf(path), segments)),
    ) ?? null
  )
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
const isSame = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.length === segments.length && pattern.every((part, index) => part.startsWith('{') || part === segments[index])
