import type { AnswerKept, PersonAnswer } from './person.ts'
import type { TaskDesk } from './task-desk.ts'
import type { ToolContext } from './tool-context.ts'

/** One call of a tool, as its frame tells it. */
export interface Invocation {
  signal: AbortSignal
  report: ToolContext['report']
  /**
   * Runs once the result has been handed to the caller, and never where it was not: what was paid for is kept until then.
   * Absent where the caller has it as soon as the effect has run.
   */
  whenDelivered?: (run: () => void) => void
  /**
   * What was called, so that work which takes too long can become a job that gives the tool's result later. Absent where
   * the caller makes the same call again instead.
   */
  called?: CalledTool
}

export interface CalledTool {
  /** The tool's name. */
  name: string
  /** Its arguments as they came; JSON. */
  given: unknown
}

/** What a frame needs from whoever carries the wallet and the client. Made on the first tool call, never before. */
export interface ToolHost {
  context(invocation: Invocation): ToolContext
  /** Records a person's answer to a question; the same tool call, made again, then finds it. */
  answer(approvalId: string, answer: PersonAnswer): Promise<AnswerKept>
  /** For clients that follow long work by themselves; absent where calls are waited for or repeated instead. */
  tasks?: TaskDesk
  /** The same as it is now, where it may change while its frame runs; whoever made it closes both. */
  now?(): Promise<ToolHost>
  close(): Promise<void>
}
