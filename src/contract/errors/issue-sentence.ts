import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** Maximum number of faults to list: more would only echo what was sent. */
export const mostIssues = 20

/** Longest word of a caller that an answer repeats. */
const mostEchoed = 100

export const shortened = (part: string | number): string | number =>
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
