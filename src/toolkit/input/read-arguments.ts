import type { z } from 'zod'
import { isObject, jsonOf } from '#contract/wire/json.ts'

type Issue = z.core.$ZodIssue

/** The arguments of a tool, or what is wrong with them; `given` is what the issues are about. */
type ReadArguments<Input extends z.ZodObject> =
  | { data: z.output<Input>; issues: null }
  | { given: unknown; issues: readonly Issue[] }

/**
 * Reads the arguments of a tool as clients send them. The empty text that models write for an optional argument counts
 * as absent. Where the schema rejects a value, null counts as absent too, and a string may contain the JSON of a list,
 * an object, a number or a boolean: some clients write all of these, and the model cannot change it.
 */
export function readArguments<Input extends z.ZodObject>(input: Input, given: unknown): ReadArguments<Input> {
  const asked = isObject(given) ? withoutFillers(input, given) : (given ?? {})
  const parsed = input.safeParse(asked)
  if (parsed.success) return { data: parsed.data, issues: null }
  const meant = input.safeParse(parsed.error.issues.reduce(repaired, asked))
  return meant.success ? { data: meant.data, issues: null } : { given: asked, issues: parsed.error.issues }
}

/** Gemini CLI, Cline and n8n add these to the arguments of every tool, for themselves. */
const ofClients: ReadonlySet<string> = new Set(['wait_for_previous', 'task_progress', 'toolCallId'])

const withoutFillers = ({ shape }: z.ZodObject, given: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([name, value]) => !isFiller(shape, name, value)))

function isFiller(shape: z.ZodObject['shape'], name: string, value: unknown): boolean {
  if (!Object.hasOwn(shape, name)) return ofClients.has(name)
  return value === '' && (shape[name] as z.ZodType).safeParse(undefined).success
}

/** Returns the arguments with the rejected value as it was meant, if that can be known. */
const repaired = (given: unknown, issue: Issue): unknown =>
  changedAt(given, issue.path, value => {
    if (value === null) return undefined
    const isOfWrongType = issue.code === 'invalid_type' && issue.expected !== 'string'
    return isOfWrongType && typeof value === 'string' ? (jsonOf(value) ?? value) : value
  })

function changedAt(
  value: unknown,
  [key, ...rest]: readonly PropertyKey[],
  change: (value: unknown) => unknown,
): unknown {
  if (key === undefined) return change(value)
  if (Array.isArray(value)) return value.map((entry, at) => (at === key ? changedAt(entry, rest, change) : entry))
  return isObject(value) ? { ...value, [key]: changedAt(value[String(key)], rest, change) } : value
}
