import type { z } from 'zod'
import { issueSentence, kindWord } from '#contract/errors/issue-sentence.ts'
import { zeroUsd } from '#contract/money.ts'
import { NeedsPerson, type Question } from './approval.ts'
import { refusedArguments, untrustedNameCharacters } from './bounds.ts'
import type { Tool } from './define.ts'
import type { Shown, ToolContext } from './tool-context.ts'
import { type FailureFacts, ToolFailure } from './tool-failure.ts'
import { untrustedId } from './values/untrusted.ts'

/** All that can become of one call of a tool. */
export type ToolOutcome =
  | ({ kind: 'done' } & ToolResult)
  | { kind: 'failed'; facts: FailureFacts }
  | { kind: 'asks'; question: Question }
  /** A mistake of ours; the error is for the log only. */
  | { kind: 'fault'; error: unknown }

/**
 * One call of a tool. Never throws. Arguments are checked before `makeContext` is called, so wrong ones
 * open no wallet and no connection.
 */
export async function runTool(
  tool: Tool,
  given: unknown,
  makeContext: () => Promise<ToolContext> | ToolContext,
): Promise<ToolOutcome> {
  const parsed = tool.input.safeParse(given ?? {})
  if (!parsed.success) {
    const wrong = sayRefusedArguments(tool.input, given, parsed.error.issues)
    return failed({
      happened: `Invalid arguments for ${tool.name}: ${wrong}`,
      charged: zeroUsd,
      next: `Fix these fields and call ${tool.name} again.`,
    })
  }
  let context: ToolContext | undefined
  try {
    context = await makeContext()
    const output = tool.output.parse(await tool.run(context, parsed.data))
    const shows = (await tool.shows?.(output, { context, input: parsed.data })) ?? []
    const files = tool.files?.(output) ?? []
    const jobId = tool.goesOnAs?.(output, parsed.data) ?? null
    return {
      kind: 'done',
      ...{ output, text: tool.say(output), files },
      ...(shows.length > 0 ? { shows } : {}),
      ...(jobId === null ? {} : { jobId }),
    }
  } catch (error) {
    if (!context) return outcomeOf(error)
    // It knows schemas, for which the start of an assistant does not wait.
    const { explainRefusal } = await import('./input/explain-refusal.ts')
    return outcomeOf(await explainRefusal(error, { tool, given: parsed.data, context }))
  }
}

/** What an effect threw, sorted. */
export function outcomeOf(error: unknown): ToolOutcome {
  if (error instanceof NeedsPerson) return { kind: 'asks', question: error.question }
  if (error instanceof ResultInstead) return { kind: 'done', ...error.result }
  if (error instanceof ToolFailure) return failed(error.facts)
  return { kind: 'fault', error }
}

const failed = (facts: FailureFacts): ToolOutcome => ({ kind: 'failed', facts })

/** What a call of a tool gives its caller. */
export interface ToolResult {
  output: Record<string, unknown>
  /** The output in words. */
  text: string
  files: { path: string; mimeType: string }[]
  shows?: readonly Shown[]
  /** The job as which the call goes on; absent where this is its end. */
  jobId?: string
}

/**
 * Thrown by a context's effects, never caught by a tool: the call comes to this and not to the tool's own result. Work that
 * takes too long has become a job; and who waits for such a job gets the result of the tool that began it.
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
      return `${issue.keys.map(untrustedKey).join(', ')} is not an argument; ${sayArguments(input)}`
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
  return names.length === 0 ? 'this tool has no arguments' : `the arguments are ${names.join(', ')}`
}

/** The list is that of the contract: what of it one model takes is found out without a connection by nobody. */
function hedge(input: z.ZodObject, [first]: readonly PropertyKey[]): string {
  if (!('model' in input.shape) || !dependsOnModel.has(String(first))) return ''
  // Optional for the sake of upscalers, which have none.
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

const untrustedKey = (key: string): string => `\`${untrustedId(key, untrustedNameCharacters)}\``

const valueAt = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    given,
  )
