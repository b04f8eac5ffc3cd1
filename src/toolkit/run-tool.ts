import type { z } from 'zod'
import { issueSentence, kindWord } from '#contract/errors/issue-sentence.ts'
import { zeroUsd } from '#contract/money.ts'
import { type ApprovalRequest, ApprovalRequired } from './approval.ts'
import { refusedArguments, untrustedNameCharacters } from './bounds.ts'
import type { Tool } from './define.ts'
import { readArguments } from './input/read-arguments.ts'
import type { Shown, ToolContext } from './tool-context.ts'
import { type FailureFacts, ToolFailure } from './tool-failure.ts'
import { untrustedId } from './values/untrusted.ts'

/** Every possible outcome of a tool's call. */
export type ToolOutcome =
  | ({ kind: 'done' } & ToolResult)
  | { kind: 'failed'; facts: FailureFacts }
  | { kind: 'needs_approval'; request: ApprovalRequest }
  /** A bug of ours; the error is only for the log. */
  | { kind: 'fault'; error: unknown }

/**
 * Runs one tool call. Never throws. Arguments are validated before `makeContext` is called, so wrong ones open no
 * wallet and no connection.
 */
export async function runTool(
  tool: Tool,
  given: unknown,
  makeContext: () => Promise<ToolContext> | ToolContext,
): Promise<ToolOutcome> {
  const read = readArguments(tool.input, given)
  if (read.issues) {
    const wrong = sayRefusedArguments(tool.input, read.given, read.issues)
    return failed({
      happened: `Invalid arguments for ${tool.name}: ${wrong}`,
      charged: zeroUsd,
      next: `Fix these fields and call ${tool.name} again.`,
    })
  }
  let context: ToolContext | undefined
  try {
    context = await makeContext()
    const output = tool.output.parse(await tool.run(context, read.data))
    const shows = (await tool.shows?.(output, { context, input: read.data })) ?? []
    const files = tool.files?.(output) ?? []
    const jobId = tool.goesOnAs?.(output, read.data) ?? null
    return {
      kind: 'done',
      ...{ output, text: tool.say(output), files },
      ...(shows.length > 0 ? { shows } : {}),
      ...(jobId === null ? {} : { jobId }),
    }
  } catch (error) {
    if (!context) return outcomeOf(error)
    // It loads schemas, and an assistant's start must not wait for them.
    const { explainRefusal } = await import('./input/explain-refusal.ts')
    return outcomeOf(await explainRefusal(error, { tool, given: read.data, context }))
  }
}

/** Classifies what an effect threw. */
export function outcomeOf(error: unknown): ToolOutcome {
  if (error instanceof ApprovalRequired) return { kind: 'needs_approval', request: error.request }
  if (error instanceof ResultInstead) return { kind: 'done', ...error.result }
  if (error instanceof ToolFailure) return failed(error.facts)
  return { kind: 'fault', error }
}

const failed = (facts: FailureFacts): ToolOutcome => ({ kind: 'failed', facts })

/** What a tool's call returns to its caller. */
export interface ToolResult {
  output: Record<string, unknown>
  /** The output in words. */
  text: string
  files: { path: string; mimeType: string }[]
  shows?: readonly Shown[]
  /** The job in which the call continues; absent if the call has ended. */
  jobId?: string
}

/**
 * Thrown by a context's effects and never caught by a tool: the call returns this instead of the tool's own result. For
 * example, work that takes too long has become a job; and waiting for such a job returns the result of the tool that
 * started it.
 */
export class ResultInstead extends Error {
  readonly result: ToolResult

  constructor(result: ToolResult) {
    super(result.text)
    this.name = 'ResultInstead'
    this.result = result
  }
}

type Issue = z.core.$ZodIssue

/**
 * Returns a sentence for the caller on what is wrong with the arguments, with the allowed values. No value is repeated.
 */
export function sayRefusedArguments(input: z.ZodObject, given: unknown, issues: readonly Issue[]): string {
  const relevant = issues.filter(issue => issue.code === 'invalid_type' || !isOfWrongType(issue, issues))
  const wrong = relevant.slice(0, refusedArguments).map(issue => sayIssue(input, given, issue))
  const more = relevant.length - wrong.length
  return `${wrong.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
}

/** The length limits of a list are also checked on a text, where they mean nothing. */
const isOfWrongType = ({ path }: Issue, issues: readonly Issue[]): boolean =>
  issues.some(({ code, path: other }) => code === 'invalid_type' && other.join('.') === path.join('.'))

function sayIssue(input: z.ZodObject, given: unknown, issue: Issue): string {
  const name = `\`${issue.path.map(String).join('.') || 'arguments'}\``
  switch (issue.code) {
    case 'unrecognized_keys':
      return sayUnknown(input, issue)
    case 'invalid_value':
      return `${name} must be one of ${issue.values.map(String).join(', ')}${hedge(input, issue.path)}`
    case 'invalid_type':
      return valueAt(given, issue.path) === undefined
        ? `${name} is missing (${kindWord(issue.expected)})`
        : `${name} must be ${withArticle(kindWord(issue.expected))}`
    case 'too_small':
      if (issue.minimum === 1 && units[issue.origin]) return `${name} must not be empty`
      return `${name} must be ${issue.inclusive === false ? 'more than' : 'at least'} ${counted(issue.minimum, issue.origin)}`
    case 'too_big':
      return `${name} must be ${issue.inclusive === false ? 'less than' : 'at most'} ${counted(issue.maximum, issue.origin)}`
    default:
      return `${name}: ${issueSentence(issue)}`
  }
}

/** Names the unknown members, also within an argument, and the known ones. */
function sayUnknown(input: z.ZodObject, { keys, path }: z.core.$ZodIssueUnrecognizedKeys): string {
  const within = path.map(String).join('.')
  const named = keys.slice(0, refusedArguments).map(key => untrustedKey(key, within === '' ? '' : `${within}.`))
  const more = keys.length - named.length
  const wrong = `${named.join(', ')}${more > 0 ? ` (and ${more} more)` : ''}`
  const names = Object.keys(objectAt(input, path)?.shape ?? {})
  if (within !== '')
    return `${wrong} is unknown${names.length === 0 ? '' : `; ${untrustedKey(within)} takes ${names.join(', ')}`}`
  return `${wrong} is not an argument; ${names.length === 0 ? 'this tool has no arguments' : `the arguments are ${names.join(', ')}`}`
}

/** Returns the object in an argument at this path; null if the argument has another form. */
function objectAt(schema: unknown, path: readonly PropertyKey[]): z.ZodObject | null {
  const { type, shape, element, unwrap } = schema as Partial<z.ZodObject & z.ZodArray>
  const [first, ...rest] = path
  if (type === 'object' && shape)
    return first === undefined ? (schema as z.ZodObject) : objectAt(shape[String(first)] ?? {}, rest)
  if (type === 'array') return objectAt(element, rest)
  return unwrap ? objectAt((schema as z.ZodOptional).unwrap(), path) : null
}

/** The list is the contract's. Which of its values a model accepts cannot be known without a request. */
function hedge(input: z.ZodObject, [first]: readonly PropertyKey[]): string {
  if (!('model' in input.shape) || !dependsOnModel.has(String(first))) return ''
  // Only upscalers make it optional, because they have none.
  const isOptional = first !== 'duration' && (input.shape[String(first)] as z.ZodType).safeParse(undefined).success
  return `, but a model may support fewer${isOptional ? '; without it, the model’s default applies' : ', see models_find'}`
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

/** Returns the name of a schema's kind for a sentence, such as "a list" for an array. */
const withArticle = (kind: string): string => articles[kind] ?? `of type ${kind}`

const articles: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  'whole number': 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}

const untrustedKey = (key: string, within = ''): string => `\`${within}${untrustedId(key, untrustedNameCharacters)}\``

const valueAt = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    given,
  )
