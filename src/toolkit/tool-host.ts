import type { PersonAnswer } from './person.ts'
import type { ToolContext } from './tool-context.ts'

/** What a frame needs from whoever carries the wallet and the client. Made on the first tool call, never before. */
export interface ToolHost {
  context(invocation: { signal: AbortSignal; report: ToolContext['report'] }): ToolContext
  /** Records a person's answer to a question; the same tool call, made again, then finds it. */
  answer(approvalId: string, answer: PersonAnswer): Promise<void>
  close(): Promise<void>
}
