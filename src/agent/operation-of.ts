import type { Operation } from '#contract/operation.ts'
import { operations } from '#contract/operations.ts'

/** The operation of a request to the service at `baseUrl`; null where the contract has none at that address. */
export function operationOf(baseUrl: string, method: string, url: string): Operation | null {
  const base = new URL(baseUrl).pathname
  const { pathname } = new URL(url)
  if (!pathname.startsWith(`${base}/`)) return null
  const segments = pathname.slice(base.length).split('/')
  const isAt = (path: string) => matches(path.split('/'), segments)
  return (
    operations.find(
      operation =>
        operation.method === method &&
        [operation.path, (operation as Operation).aliasPath].some(path => path && isAt(path)),
    ) ?? null
  )
}

/** Parameters such as `{id}` stand for one segment. */
const matches = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.length === segments.length && pattern.every((part, index) => part.startsWith('{') || part === segments[index])
