import type { z } from 'zod'
import { invalidRequest } from './errors.ts'
import type { DetailedError } from './failures.ts'
import { issueSentence, mostIssues, shortened } from './issue-sentence.ts'
import type { ServiceError } from './service-error.ts'

/** How many faults of one alternative of a union are compared with another's; a list may have one per item. */
const mostCompared = 100

type Issue = z.core.$ZodIssue

/**
 * The 400 for a request that its schema rejects: every field by its path, with what is allowed there. No sent value is
 * repeated, only names of members. With `input`, a missing choice is distinguished from a wrong one.
 */
export function describeIssues(error: z.ZodError, input?: unknown): z.input<typeof DetailedError> {
  const flat: FlatIssue[] = []
  for (const issue of error.issues) {
    if (flat.length >= mostIssues) break
    flatten(issue, [], input, flat)
  }
  flat.length = Math.min(flat.length, mostIssues)
  const details = emptyLevel()
  for (const { path, message } of flat) note(details, path, message)
  return {
    error: 'Invalid request parameters',
    details,
    issues: flat.map(({ code, path, message }) => ({ code, path, message })),
  }
}

interface FlatIssue {
  code: string
  path: (string | number)[]
  message: string
}

/** If nothing in a union fits, the alternative that matched furthest is reported. */
function flatten(issue: Issue, before: readonly (string | number)[], input: unknown, flat: FlatIssue[]): void {
  if (flat.length >= mostIssues) return
  const path = [...before, ...issue.path.map(part => (typeof part === 'symbol' ? String(part) : part))]
  const best = issue.code === 'invalid_union' ? furthest(issue.errors) : null
  if (best) {
    for (const inner of best.slice(0, mostIssues)) flatten(inner, path, input, flat)
    return
  }
  const message = isMissing(issue, path, input) ? 'Field is required' : issueSentence(issue)
  flat.push({ code: issue.code ?? 'custom', path: path.map(shortened), message })
}

function furthest(alternatives: readonly (readonly Issue[])[]): readonly Issue[] | null {
  let best: readonly Issue[] | null = null
  let bestDepth = 0
  for (const issues of alternatives) {
    const depth = depthOf(issues)
    if (depth <= bestDepth) continue
    best = issues
    bestDepth = depth
  }
  return best
}

const depthOf = (issues: readonly Issue[]): number =>
  Math.max(0, ...issues.slice(0, mostCompared).map(issue => issue.path.length))

/** zod leaves the value out of the issue, so only its message reveals that a value is missing. */
const isMissing = (issue: Issue, path: readonly (string | number)[], input: unknown): boolean =>
  issue.code === 'invalid_type'
    ? issue.message.endsWith('received undefined')
    : input !== undefined &&
      (issue.code === 'invalid_value' || issue.code === 'invalid_union') &&
      valueAt(input, path) === undefined

function valueAt(input: unknown, path: readonly (string | number)[]): unknown {
  let value = input
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string | number, unknown>)[part]
  }
  return value
}

type Level = { _errors: string[] } & Record<string | number, unknown>

/** Without a prototype, so that a member called `__proto__` is treated like any other. */
const emptyLevel = (): Level => Object.assign(Object.create(null), { _errors: [] })

function note(details: Level, path: readonly (string | number)[], message: string): void {
  let level = details
  for (const part of path) {
    // A caller's own member of this name would overwrite the sentences.
    if (part === '_errors') break
    const inner = (level[part] as Level | undefined) ?? emptyLevel()
    level[part] = inner
    level = inner
  }
  level._errors.push(message)
}

type Path = readonly (string | number)[]

/** A 400 that names one field and its allowed values; without a field it is about the whole body. */
export const fieldError = (path: Path, message: string, error = 'Invalid request parameters'): ServiceError =>
  invalidRequest({ error, ...fieldDetails(path, message) })

interface DetailLevel {
  _errors: string[]
  [name: string]: unknown
}

/** Describes one field: nested under `details`, each level with its `_errors`, and flat under `issues`. */
export function fieldDetails(path: Path, message: string) {
  // A caller's own member of this name would overwrite the sentences.
  const names = path.filter(name => name !== '_errors')
  const details = names.reduceRight<DetailLevel>((inner, name) => ({ _errors: [], [name]: inner }), {
    _errors: [message],
  })
  return { details, issues: [{ code: 'custom', path: [...path], message }] }
}
