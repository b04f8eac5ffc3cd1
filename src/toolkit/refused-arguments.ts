import type { z } from 'zod'
import { issueSentence, kindWord } from '#contract/errors/issue-sentence.ts'
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
      return `${issue.keys.map(strange).join(', ')} is not taken; ${sayArguments(input)}`
    case 'invalid_value':
      return `${name} must be one of ${issue.values.map(String).join(', ')}${hedge(input, issue.path)}`
    case 'invalid_type':
      return valueAt(given, issue.path) === undefined
        ? `${name} is missing (${kindWord(issue.expected)})`
        : `${name} must be of type ${kindWord(issue.expected)}`
    case 'too_small':
      if (issue.minimum === 1 && units[issue.origin]) return `${name} must not be empty`
      return `${name} must be ${issue.inclusive === false ? 'more than' : 'at least'} ${counted(issue.minimum, issue.origin)}`
    case 'too_big':
      return `${name} must be ${issue.inclusive === false ? 'less than' : 'at most'} ${counted(issue.maximum, issue.origin)}`
    default:
      return `${name}: ${issueSentence(issue)}`
  }
}

function sayArguments(input: z.ZodObject): string {
  const names = Object.keys(input.shape)
  return names.length === 0 ? 'there are no arguments' : `the arguments are ${names.join(', ')}`
}

/** The list is that of the contract: what of it one model takes is found out without a connection by nobody. */
function hedge(input: z.ZodObject, [first]: readonly PropertyKey[]): string {
  if (!('model' in input.shape) || !dependsOnModel.has(String(first))) return ''
  // Optional for the sake of upscalers, which have none.
  const isOptional = first !== 'duration' && (input.shape[String(first)] as z.ZodType).safeParse(undefined).success
  return `, of which a model may take fewer${isOptional ? '; without it the model has its own' : ', which models_find tells'}`
}

const dependsOnModel: ReadonlySet<string> = new Set([
  'duration',
  'aspect_ratio',
  'resolution',
  'quality',
  'format',
  'upscale_factor',
])

const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
}

function counted(bound: number | bigint, origin: string): string {
  const unit = units[origin]
  return unit ? `${bound} ${unit[bound === 1 ? 0 : 1]} long` : `${bound}`
}

const strange = (key: string): string => `\`${strangeId(key, strangeNameCharacters)}\``

const valueAt = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    given,
  )
