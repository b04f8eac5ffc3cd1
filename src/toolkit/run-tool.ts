import { zeroUsd } from '#contract/money.ts'
import type { Tool } from './define-tool.ts'
import { NeedsPerson, type Question } from './person.ts'
import { sayRefusedArguments } from './refused-arguments.ts'
import { ResultInstead, type ToolResult } from './result-instead.ts'
import type { ToolContext } from './tool-context.ts'
import { type FailureFacts, ToolFailure } from './tool-failure.ts'

/** All that can become of one call of a tool. */
export type ToolOutcome =
  | ({ kind: 'done' } & ToolResult)
  | { kind: 'failed'; facts: FailureFacts }
  | { kind: 'asks'; question: Question }
  /** A mistake of ours; the error is for the log only. */
  | { kind: 'fault'; error: unknown }

/**
 * One call of a tool, whoever makes it. Never throws. Arguments are checked before `makeContext` is called, so wrong ones
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
      happened: `The arguments of ${tool.name} are not right: ${wrong}`,
      charged: zeroUsd,
      next: `Call ${tool.name} again with them mended.`,
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
    const { tellRefusal } = await import('./tell-refusal.ts')
    return outcomeOf(await tellRefusal(error, { tool, given: parsed.data, context }))
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
