import { z } from 'zod'
import { issueSentence, kindWord } from '#contract/errors/issue-sentence.ts'
import { nearNames } from '#contract/schemas.ts'

/**
 * Throws a `TypeError` for options that are not what `createAgent` and its like take: one sentence that names the option
 * and what is allowed, because a cap that is misspelt would hold nothing. No value is repeated.
 */
export function checkOptions(command: string, shape: z.ZodRawShape, given: unknown): void {
  const [issue] = z.strictObject(shape).safeParse(given).error?.issues ?? []
  if (issue) throw new TypeError(`${command}: ${sayIssue(shape, given, issue)}`)
}

function sayIssue(shape: z.ZodRawShape, given: unknown, issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.')
  switch (issue.code) {
    case 'unrecognized_keys': {
      const name = String(issue.keys[0]).slice(0, nameCharacters)
      const known = namesAt(shape, issue.path)
      const [near] = nearNames(name, known, 1)
      const meant = near === undefined ? '' : ` Did you mean \`${near}\`?`
      return `\`${place === '' ? '' : `${place}.`}${name}\` is no option; there are ${known.join(', ')}.${meant}`
    }
    case 'invalid_value':
      return `\`${place}\` must be one of ${issue.values.map(String).join(', ')}.`
    case 'invalid_type':
      if (place === '') return `Its options are an object with ${Object.keys(shape).join(', ')}.`
      return valueAt(given, issue.path) === undefined
        ? `\`${place}\` is missing (${kindWord(issue.expected)}).`
        : `\`${place}\` must be of type ${kindWord(issue.expected)}.`
    default:
      return `\`${place}\` ${issueSentence(issue).replace(/^Must\b/, 'must')}.`
  }
}

/** A stranger's name in a sentence. */
const nameCharacters = 80

/** Names that the object at a path has. */
function namesAt(shape: z.ZodRawShape, [first, ...rest]: readonly PropertyKey[]): string[] {
  if (first === undefined) return Object.keys(shape)
  const member = shape[String(first)]
  const inner = member instanceof z.ZodOptional ? member.unwrap() : member
  return inner instanceof z.ZodObject ? namesAt(inner.shape, rest) : []
}

const valueAt = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, name) => (Object(value) === value ? Reflect.get(value as object, name) : undefined),
    given,
  )
