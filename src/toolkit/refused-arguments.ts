import type { z } from 'zod'
import { refusedArguments, strangeNameCharacters } from './bounds.ts'
import { strangeId } from './from-outside.ts'

type Issue = z.core.$ZodIssue

/** What is wrong with the arguments, with the allowed values, in a sentence for the caller. No value is repeated. */
export function sayRefusedArguments(input: z.ZodObject, given: unknown, issues: readonly Issue[]): string {
  const wrong = issues.slice(0, refusedArguments).map(issue => sayIssue(input, given, issue))
  const more = issues.length - wrong.length
  return `${wrong.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
}

function sayIssue(input: z.ZodObject, given: unknown, issue: Issue): string {
  const name = `\`${issue.path.map(String).join('.') || 'arguments'}\``
  switch (issue.code) {
    case 'unrecognized_keys':
      return `${issue.keys.map(strange).join(', ')} is not taken; the arguments are ${Object.keys(input.shape).join(', ') || 'none'}`
    case 'invalid_value':
      return `${name} must be one of ${issue.values.map(String).join(', ')}`
    case 'invalid_type':
      return valueAt(given, issue.path) === undefined
        ? `${name} is missing (${issue.expected})`
        : `${name} must be of type ${issue.expected}`
    case 'too_small':
      return `${name} must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unit(issue.origin)}`
    case 'too_big':
      return `${name} must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unit(issue.origin)}`
    default:
      return `${name}: ${issue.message}`
  }
}

const unit = (origin: string): string =>
  origin === 'string' ? ' characters long' : origin === 'array' ? ' entries long' : ''

const strange = (key: string): string => `\`${strangeId(key, strangeNameCharacters)}\``

const valueAt = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    given,
  )
