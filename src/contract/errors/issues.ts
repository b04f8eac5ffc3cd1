import type { z } from 'zod'
import { invalidRequest } from './errors.ts'
import type { DetailedError } from './failures.ts'
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

/** Maximum number of faults to list: more would only echo what was sent. */
const mostIssues = 20

/** Longest word of a caller that an answer repeats. */
const mostEchoed = 100

const shortened = (part: string | number): string | number =>
  typeof part === 'string' && part.length > mostEchoed ? `${part.slice(0, mostEchoed)}…` : part

/** Formats what is allowed where a schema rejects a value: a schema's own sentence, never the library's. */
export function issueSentence(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `Expected ${kindWord(issue.expected)}`
    case 'invalid_value':
      return allowed(issue.values)
    case 'unrecognized_keys':
      return issue.message.startsWith('Unrecognized')
        ? `Not allowed here: ${issue.keys.slice(0, mostIssues).map(shortened).join(', ')}`
        : issue.message
    case 'invalid_union':
      return unionSentence(issue)
    case 'invalid_format':
      return formatSentence(issue)
    case 'invalid_key':
      return keySentence(issue)
    default:
      return isOfLibrary(issue.message) ? boundSentence(issue) : issue.message
  }
}

const isOfLibrary = (message: string): boolean =>
  /^(Too small: |Too big: |Invalid (input|number|value|key)\b)/.test(message)

/** Kinds that JSON names differently. */
export const kindWord = (expected: string): string => kinds[expected] ?? expected

const kinds: Readonly<Record<string, string>> = { int: 'whole number', record: 'object', map: 'object', nan: 'number' }

const allowed = (values: readonly unknown[]): string =>
  `Allowed ${values.length === 1 ? 'value' : 'values'}: ${values.map(String).join(', ')}`

/** Names every alternative in one sentence: the kinds of value, or the values themselves. */
function unionSentence(issue: z.core.$ZodIssueInvalidUnion): string {
  if ('options' in issue && Array.isArray(issue.options)) return allowed(issue.options)
  const said = issue.errors.map(([first]) => first && issueSentence(first)).filter(words => words !== undefined)
  return said.length > 0 ? [...new Set(said)].join(', or: ') : 'Matches none of the allowed forms'
}

const formats: Readonly<Record<string, string>> = {
  url: 'an address such as https://example.com',
  datetime: 'a time such as 2027-01-31T12:00:00Z',
  date: 'a day such as 2027-01-31',
  base64: 'text in base64',
  uuid: 'a UUID',
}

/** A pattern may have a sentence of its own; the library's begin with `Invalid`. */
function formatSentence(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (!/^Invalid\b/.test(issue.message)) return `Must be ${issue.message}`
  if (issue.format === 'regex') return `Must match ${issue.pattern}`
  return `Must be ${formats[issue.format] ?? `in the format ${issue.format}`}`
}

/** Lists the names that a record does not accept. */
function keySentence(issue: z.core.$ZodIssueInvalidKey): string {
  const [inner] = issue.issues
  return inner ? `Unknown name. ${issueSentence(inner)}` : 'Unknown name'
}

function boundSentence(issue: Issue): string {
  if (issue.code === 'too_small') {
    const { origin, minimum, inclusive } = issue
    const unit = units[origin]
    if (!unit) return inclusive ? `Must be ${minimum} or more` : `Must be more than ${minimum}`
    return `${minimum}` === '1' ? 'Must not be empty' : `Must have ${minimum} ${unit.many} or more`
  }
  if (issue.code === 'too_big') {
    const { origin, maximum, inclusive } = issue
    const unit = units[origin]
    if (!unit) return inclusive ? `Must be ${maximum} or less` : `Must be less than ${maximum}`
    return `Must have ${maximum} ${`${maximum}` === '1' ? unit.one : unit.many} at most`
  }
  if (issue.code === 'not_multiple_of') return `Must be a multiple of ${issue.divisor}`
  return 'Matches none of the allowed forms'
}

const units: Readonly<Record<string, { one: string; many: string }>> = {
  string: { one: 'character', many: 'characters' },
  array: { one: 'item', many: 'items' },
  set: { one: 'item', many: 'items' },
  map: { one: 'member', many: 'members' },
}
