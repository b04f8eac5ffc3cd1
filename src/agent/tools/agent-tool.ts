import { z } from 'zod'
import { NeedsPerson } from '#toolkit/approval.ts'
import { questionsInARow } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { runTool, type ToolResult } from '#toolkit/run-tool.ts'
import type { Shown } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import type { AskPerson } from '../settings/agent-options.ts'

export interface AgentToolResult {
  output: Record<string, unknown>
  /** The output in words; text from outside is marked in it. */
  text: string
  files: { path: string; mimeType: string }[]
  /** A small picture of the first file, or a sentence why there is none, where `preview` was asked for. */
  shows?: readonly Shown[]
}

/** A tool as a program calls it, or gives it to a model. */
export interface AgentTool {
  name: string
  description: string
  /** What checks the arguments. */
  input: z.ZodObject
  /** The same as JSON Schema. */
  inputSchema: Record<string, unknown>
  /** Throws `ToolFailure`, or `NeedsPerson` where a person has to decide and `onApproval` is not there. */
  call(args: unknown, options?: { signal?: AbortSignal }): Promise<AgentToolResult>
}

export const agentTool = (tool: Tool, host: ToolHost, ask: AskPerson | undefined): AgentTool => ({
  name: tool.name,
  description: tool.description,
  input: tool.input,
  inputSchema: z.toJSONSchema(tool.input, { io: 'input' }),
  async call(args, { signal = new AbortController().signal } = {}) {
    for (let question = 0; ; question++) {
      const delivered: (() => void)[] = []
      const whenDelivered = (run: () => void) => void delivered.push(run)
      const invocation = { signal, report: () => {}, whenDelivered, called: { name: tool.name, given: args } }
      const outcome = await runTool(tool, args, () => host.context(invocation))
      switch (outcome.kind) {
        case 'done':
          for (const run of delivered) run()
          return resultOf(outcome)
        case 'failed':
          throw new ToolFailure(outcome.facts)
        case 'fault':
          throw outcome.error
        case 'asks':
          if (!ask || question >= questionsInARow) throw new NeedsPerson(outcome.question)
          await host.answer(outcome.question.approvalId, await ask(outcome.question))
      }
    }
  },
})

const resultOf = ({ output, text, files, shows }: ToolResult): AgentToolResult => ({
  output,
  text,
  files,
  ...(shows ? { shows } : {}),
})
