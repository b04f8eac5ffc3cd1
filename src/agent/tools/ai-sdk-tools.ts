import type { z } from 'zod'
import type { AgentTool } from './agent-tool.ts'
import { callInWords } from './call-in-words.ts'

/** A tool as the AI SDK's `generateText({ tools })` takes it. */
export interface AiSdkTool {
  description: string
  inputSchema: z.ZodObject
  execute(input: unknown, options?: { abortSignal?: AbortSignal | undefined }): Promise<string>
}

/** Some of an agent's tools, all unless named, for the AI SDK. A failure and a question to a person are results in words. */
export const aiSdkTools = (
  agent: { tools: readonly AgentTool[] },
  names?: readonly string[],
): Record<string, AiSdkTool> =>
  Object.fromEntries(
    agent.tools
      .filter(({ name }) => names === undefined || names.includes(name))
      .map(tool => [
        tool.name,
        {
          description: tool.description,
          inputSchema: tool.input,
          execute: (input, { abortSignal } = {}) => callInWords(tool, input, abortSignal),
        } satisfies AiSdkTool,
      ]),
  )
