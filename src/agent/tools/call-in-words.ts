import { systemClock } from '#contract/time.ts'
import { NeedsPerson, sayOpenQuestion } from '#toolkit/approval.ts'
import { sayFailure, ToolFailure } from '#toolkit/tool-failure.ts'
import type { AgentTool } from './agent-tool.ts'

/**
 * One call of a tool for a model that reads words: its result, why it failed, or what a person has to be shown. Throws
 * only what is nobody's business but the program's: an abort, or a mistake of ours.
 */
export async function callInWords(tool: AgentTool, args: unknown, signal?: AbortSignal): Promise<string> {
  try {
    return (await tool.call(args, signal ? { signal } : {})).text
  } catch (error) {
    if (error instanceof ToolFailure) return sayFailure(error.facts, systemClock.now())
    if (error instanceof NeedsPerson) return sayOpenQuestion(error.question, tool.name, systemClock.now())
    throw error
  }
}
