import type { z } from 'zod'
import type { DetailedError } from './failures.ts'

/** A body with thousands of faults gets the first of them; more would only be an echo of what was sent. */
const mostIssues = 20

/** Longest word of a caller's own that an answer repeats. */
const mostEchoed = 100

/** Faults of one alternative of a union that are compared with another's; a list may have a fault an item. */
const mostCompared = 100

type Issue = z.core.$ZodIssue

/**
 * The 400 of a request that its schema refuses: every field by its path, with what is allowed there. No value that was
 * sent is repeated, only names of members. With `input`, a choice that is missing is told from one that is wrong.
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

/** Of a union that nothing fits, the alternative that came furthest says most. */
function flatten(issue: Issue, before: readonly (string | number)[], input: unknown, flat: FlatIssue[]): void {
  if (flat.length >= mostIssues) return
  const path = [...before, ...issue.path.map(part => (typeof part === 'symbol' ? String(part) : part))]
  const best = issue.code === 'invalid_union' ? furthest(issue.errors) : null
  if (best) {
    for (const inner of best.slice(0, mostIssues)) flatten(inner, path, input, flat)
    return
  }
  const message = isMissing(issue, path, input) ? 'Field is required' : sentence(issue)
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

const shortened = (part: string | number): string | number =>
  typeof part === 'string' && part.length > mostEchoed ? `${part.slice(0, mostEchoed)}…` : part

/** zod leaves the value out of the issue; the words of its message are all that tells of a missing one. */
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

function sentence(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `Expected ${issue.expected}`
    case 'invalid_value':
      return allowed(issue.values)
    case 'unrecognized_keys':
      return `Not taken here: ${issue.keys.slice(0, mostIssues).map(shortened).join(', ')}`
    case 'invalid_union':
      return unionSentence(issue)
    case 'invalid_format':
      return issue.message.startsWith('Invalid') ? issue.message : `Must be ${issue.message}`
    default:
      return issue.message
  }
}

const allowed = (values: readonly unknown[]): string =>
  `Allowed ${values.length === 1 ? 'value' : 'values'}: ${values.map(String).join(', ')}`

/** Every alternative in one sentence: the kinds of value, or the values themselves. */
function unionSentence(issue: z.core.$ZodIssueInvalidUnion): string {
  if ('options' in issue && Array.isArray(issue.options)) return allowed(issue.options)
  const said = issue.errors.map(([first]) => first && sentence(first)).filter(words => words !== undefined)
  return said.length > 0 ? [...new Set(said)].join(', or: ') : 'Of none of the allowed shapes'
}

type Level = { _errors: string[] } & Record<string | number, unknown>

/** Without a prototype, so that a member called `__proto__` is a name like any other. */
const emptyLevel = (): Level => Object.assign(Object.create(null), { _errors: [] })

function note(details: Level, path: readonly (string | number)[], message: string): void {
  let level = details
  for (const part of path) {
    // A caller's own member of this name would stand where the sentences are.
    if (part === '_errors') break
    const inner = (level[part] as Level | undefined) ?? emptyLevel()
    level[part] = inner
    level = inner
  }
  level._errors.push(message)
}
