import { z } from 'zod'
import { systemClock } from '#contract/time.ts'
import { NeedsPerson, sayOpenQuestion } from '#toolkit/approval.ts'
import { questionsInARow } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { runTool, type ToolResult } from '#toolkit/run-tool.ts'
import type { Shown } from '#toolkit/tool-context.ts'
import { sayFailure, ToolFailure } from '#toolkit/tool-failure.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import type { tools } from '#tools/table.generated.ts'
import type { AskPerson } from '../settings/agent-options.ts'

type Tools = typeof tools

/** The name of one of farebox's tools. */
export type ToolName = keyof Tools

type ToolOf<Name extends ToolName> = Awaited<ReturnType<Tools[Name]>>

/** What a tool takes: `ToolArguments<'chat'>`. */
export type ToolArguments<Name extends ToolName> = z.input<ToolOf<Name>['input']>

/** What a tool returns as `output`: `ToolOutput<'chat'>`. Money is in USD, times are ISO 8601. */
export type ToolOutput<Name extends ToolName> = z.output<ToolOf<Name>['output']>

export interface CallOptions {
  /** Ends the wait. What has been paid for by then is kept, and the same call made again returns it. */
  signal?: AbortSignal
}

/** Arguments may be left out where a tool needs none. */
type Given<Name extends ToolName> =
  Record<never, never> extends ToolArguments<Name>
    ? [args?: ToolArguments<Name>, options?: CallOptions]
    : [args: ToolArguments<Name>, options?: CallOptions]

/** Calls a tool by its name, with its own arguments and output. */
export type CallTool = <Name extends ToolName>(
  tool: Name,
  ...given: Given<Name>
) => Promise<AgentToolResult<ToolOutput<Name>>>

/** The tools as functions. */
export type ToolCalls = {
  readonly [Name in ToolName]: (...given: Given<Name>) => Promise<AgentToolResult<ToolOutput<Name>>>
}

/** What a tool's call returned. */
export interface AgentToolResult<Output = Record<string, unknown>> {
  /** For a program. */
  output: Output
  /** The same in sentences, for a model; text from outside is marked in it. */
  text: string
  /** Files that the call saved. */
  files: { path: string; mimeType: string }[]
  /** A small image of the first file, or a sentence why there is none, where `preview` was asked for. */
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
  call(args: unknown, options?: CallOptions): Promise<AgentToolResult>
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
      const called = { name: tool.name, given: args }
      const invocation = { signal, report: () => {}, whenDelivered, called, waits: true }
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
  /**
   * The message that answers a model's call, failures and questions to the user in words. Never throws for what a model
   * wrote.
   */
  answer(call: OpenAiToolCall, options?: { signal?: AbortSignal }): Promise<OpenAiToolMessage>
}

/** An agent. */
interface HasTools {
  toolList: readonly AgentTool[]
}

const chosenTools = ({ toolList }: HasTools, names: readonly string[] | undefined): readonly AgentTool[] =>
  toolList.filter(({ name }) => names === undefined || names.includes(name))

/**
 * Some of an agent's tools, all unless named, for any client that speaks OpenAI's function tools.
 *
 * @example
 * const { tools, answer } = openAiTools(agent, ['web_search'])
 * const { choices } = await openai.chat.completions.create({ model, messages, tools })
 * for (const call of choices[0].message.tool_calls ?? []) messages.push(await answer(call))
 */
export function openAiTools(agent: HasTools, names?: readonly string[]): OpenAiTools {
  const chosen = chosenTools(agent, names)
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
    return `No tool has this name. Nothing was charged. The tools are ${tools.map(({ name }) => name).join(', ')}.`
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

/** What makes a tool of LangChain's: `new DynamicStructuredTool(each)`. */
export interface LangChainTool {
  name: string
  description: string
  /** JSON Schema. */
  schema: Record<string, unknown>
  func(input: unknown, runManager?: unknown, config?: { signal?: AbortSignal | undefined }): Promise<string>
}

/**
 * Some of an agent's tools, all unless named, for LangChain. A failure and a question to a person are results in words.
 *
 * @example
 * const tools = langChainTools(agent, ['web_search']).map(each => new DynamicStructuredTool(each))
 */
export const langChainTools = (agent: HasTools, names?: readonly string[]): LangChainTool[] =>
  chosenTools(agent, names).map(tool => ({
    name: tool.name,
    description: tool.description,
    schema: tool.inputSchema,
    func: (input, _runManager, { signal } = {}) => callInWords(tool, input, signal),
  }))

/** A tool as the AI SDK's `generateText({ tools })` takes it, and Mastra's `new Agent({ tools })`. */
export interface AiSdkTool {
  description: string
  inputSchema: z.ZodObject
  execute(input: unknown, options?: { abortSignal?: AbortSignal | undefined }): Promise<string>
}

/**
 * Some of an agent's tools, all unless named, for the AI SDK and for Mastra. A failure and a question to a person are
 * results in words.
 *
 * @example
 * await generateText({ model, prompt, tools: aiSdkTools(agent, ['web_search']) })
 */
export const aiSdkTools = (agent: HasTools, names?: readonly string[]): Record<string, AiSdkTool> =>
  Object.fromEntries(
    chosenTools(agent, names).map(tool => [
      tool.name,
      {
        description: tool.description,
        inputSchema: tool.input,
        execute: (input, { abortSignal } = {}) => callInWords(tool, input, abortSignal),
      } satisfies AiSdkTool,
    ]),
  )

/**
 * One call of a tool for a model that reads words: its result, why it failed, or what a person has to be shown. Throws
 * only what is nobody's business but the program's: an abort, or a mistake of ours.
 */
async function callInWords(tool: AgentTool, args: unknown, signal?: AbortSignal): Promise<string> {
  try {
    return (await tool.call(args, signal ? { signal } : {})).text
  } catch (error) {
    if (error instanceof ToolFailure) return sayFailure(error.facts, systemClock.now())
    if (error instanceof NeedsPerson) return sayOpenQuestion(error.question, tool.name, systemClock.now())
    throw error
  }
}
