import type { AgentTool } from './agent-tool.ts'
import { callInWords } from './call-in-words.ts'

/** A tool as the `tools` of a chat completion take it. */
export interface OpenAiTool {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

/** A call as a model makes it: of `message.tool_calls`. */
export interface OpenAiToolCall {
  id: string
  function?: { name: string; arguments: string }
}

export interface OpenAiToolMessage {
  role: 'tool'
  tool_call_id: string
  content: string
}

export interface OpenAiTools {
  tools: OpenAiTool[]
  /** The message that answers a model's call, failures and questions to a person in words. Never throws for what a model wrote. */
  answer(call: OpenAiToolCall, options?: { signal?: AbortSignal }): Promise<OpenAiToolMessage>
}

/** Some of an agent's tools, all unless named, for any client that speaks OpenAI's function tools. */
export function openAiTools(agent: { tools: readonly AgentTool[] }, names?: readonly string[]): OpenAiTools {
  const chosen = agent.tools.filter(({ name }) => names === undefined || names.includes(name))
  return {
    tools: chosen.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name, description, parameters: inputSchema },
    })),
    async answer(call, { signal } = {}) {
      return { role: 'tool', tool_call_id: call.id, content: await contentOf(chosen, call, signal) }
    },
  }
}

async function contentOf(
  tools: readonly AgentTool[],
  call: OpenAiToolCall,
  signal: AbortSignal | undefined,
): Promise<string> {
  const tool = tools.find(({ name }) => name === call.function?.name)
  if (!tool)
    return `There is no such tool. Nothing was charged. The tools are ${tools.map(({ name }) => name).join(', ')}.`
  const args = argumentsOf(call.function?.arguments ?? '')
  if (!args.isJson)
    return `The arguments of ${tool.name} are not JSON. Nothing was charged. Call it again with a JSON object.`
  return callInWords(tool, args.value, signal)
}

/** A tool without arguments is called with an empty text by some models. */
function argumentsOf(text: string): { isJson: boolean; value?: unknown } {
  if (text.trim() === '') return { isJson: true, value: {} }
  try {
    return { isJson: true, value: JSON.parse(text) }
  } catch {
    return { isJson: false }
  }
}
