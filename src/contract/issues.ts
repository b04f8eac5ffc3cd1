import type { z } from 'zod'
import type { DetailedError } from './failures.ts'

/** A body with thousands of faults gets the first of them; more would only be an echo of what was sent. */
const mostIssues = 20

/** Longest word of a caller's own that an answer repeats. */
const mostEchoed = 100

type Issue = z.core.$ZodIssue

/** The 400 of a request that its schema refuses: every field by its path, with what is allowed there. */
export function describeIssues(error: z.ZodError): z.input<typeof DetailedError> {
  const flat = error.issues.flatMap(issue => flattened(issue, [])).slice(0, mostIssues)
  const details: Record<string, unknown> = { _errors: [] }
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

/** Of a union that nothing fits, the branch that came furthest says most. */
function flattened(issue: Issue, before: readonly (string | number)[]): FlatIssue[] {
  const path = [...before, ...issue.path.map(part => (typeof part === 'symbol' ? String(part) : part))]
  if (issue.code === 'invalid_union' && issue.errors.length) {
    const [best] = [...issue.errors].sort((a, b) => depthOf(b) - depthOf(a))
    if (best && depthOf(best) > 0) return best.flatMap(inner => flattened(inner, path))
  }
  return [{ code: issue.code ?? 'custom', path: path.map(shortened), message: sentence(issue) }]
}

const depthOf = (issues: readonly Issue[]): number => Math.max(0, ...issues.map(issue => issue.path.length))

const shortened = (part: string | number): string | number =>
  typeof part === 'string' && part.length > mostEchoed ? `${part.slice(0, mostEchoed)}…` : part

function sentence(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      // zod leaves the value out of the issue; the words of its message are all that tells.
      return issue.message.endsWith('received undefined') ? 'Field is required' : `Expected ${issue.expected}`
    case 'invalid_value':
      return issue.values.length === 1
        ? `Allowed value: ${String(issue.values[0])}`
        : `Allowed values: ${issue.values.map(String).join(', ')}`
    case 'unrecognized_keys':
      return `Not taken here: ${issue.keys.slice(0, mostIssues).map(shortened).join(', ')}`
    case 'invalid_union':
      return issue.discriminator ? `No such ${issue.discriminator}` : 'Of none of the allowed shapes'
    case 'invalid_format':
      return issue.message.startsWith('Invalid') ? issue.message : `Must be ${issue.message}`
    default:
      return issue.message
  }
}

function note(details: Record<string, unknown>, path: readonly (string | number)[], message: string): void {
  let level = details
  for (const part of path) {
    const inner = Object.hasOwn(level, part) ? level[part] : undefined
    const next = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : { _errors: [] }
    level[part] = next
    level = next
  }
  ;(level._errors as string[]).push(message)
}
