import { z } from 'zod'
import { systemClock } from '#contract/time.ts'
import { ApprovalRequired, sayOpenRequest } from '#toolkit/approval.ts'
import { approvalsInARow } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { runTool, type ToolResult } from '#toolkit/run-tool.ts'
import type { Shown, WalletClient } from '#toolkit/tool-context.ts'
import { sayFailure, ToolFailure } from '#toolkit/tool-failure.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import type { tools } from '#tools/table.generated.ts'
import type { AskUser } from '../settings/agent-options.ts'

type Tools = typeof tools

/** The name of one of farebox's tools. */
export type ToolName = keyof Tools

type ToolOf<Name extends ToolName> = Awaited<ReturnType<Tools[Name]>>

/** A tool's arguments: `ToolArguments<'chat'>`. */
export type ToolArguments<Name extends ToolName> = z.input<ToolOf<Name>['input']>

/** What a tool returns as `output`: `ToolOutput<'chat'>`. Money is in USD, times are ISO 8601. */
export type ToolOutput<Name extends ToolName> = z.output<ToolOf<Name>['output']>

/** Options of one call. */
export interface CallOptions {
  /** Ends the wait. What has been paid for by then is kept, and repeating the call returns it. */
  signal?: AbortSignal
}

/** Arguments may be omitted if a tool needs none. */
type Given<Name extends ToolName> =
  Record<never, never> extends ToolArguments<Name>
    ? [args?: ToolArguments<Name>, options?: CallOptions]
    : [args: ToolArguments<Name>, options?: CallOptions]

/** Calls a tool by name, with its own arguments and output. */
export type CallTool = <Name extends ToolName>(
  tool: Name,
  ...given: Given<Name>
) => Promise<AgentToolResult<ToolOutput<Name>>>

/** The tools as functions. */
export type ToolCalls = {
  readonly [Name in ToolName]: (...given: Given<Name>) => Promise<AgentToolResult<ToolOutput<Name>>>
}

/** The result of a tool's call. */
export interface AgentToolResult<Output = Record<string, unknown>> {
  /** The output as data, for a program. */
  output: Output
  /** The output as sentences for a model, with untrusted text marked. */
  text: string
  /** Files that the call saved. */
  files: { path: string; mimeType: string }[]
  /** A small image of the first file, or a sentence that says why there is none, if `preview` was requested. */
  shows?: readonly Shown[]
}

/** A tool that a program can call or pass to a model. */
export interface AgentTool {
  name: string
  description: string
  /** Validates the arguments. */
  input: z.ZodObject
  /** `input` as JSON Schema, for a model. */
  inputSchema: Record<string, unknown>
  /** Throws `ToolFailure`, or `ApprovalRequired` if the user must decide and `onApproval` is not set. */
  call(args: unknown, options?: CallOptions): Promise<AgentToolResult>
}

export const agentTool = (tool: Tool, host: ToolHost, ask: AskUser | undefined): AgentTool => ({
  name: tool.name,
  description: tool.description,
  input: tool.input,
  inputSchema: z.toJSONSchema(tool.input, { io: 'input' }),
  async call(args, { signal = new AbortController().signal } = {}) {
    for (let asked = 0; ; asked++) {
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
        case 'needs_approval':
          if (!ask || asked >= approvalsInARow) throw new ApprovalRequired(outcome.request)
          await host.answer(outcome.request.approvalId, await ask(outcome.request))
      }
    }
  },
})

/** A wallet whose top-ups ask for the approval that they need, as tools do. */
export const askingWallet = (wallet: WalletClient, host: ToolHost, ask: AskUser | undefined): WalletClient => ({
  ...wallet,
  async topUp(amountMicroUsd, options) {
    for (let asked = 0; ; asked++) {
      try {
        return await wallet.topUp(amountMicroUsd, options)
      } catch (error) {
        if (!(error instanceof ApprovalRequired) || !ask || asked >= approvalsInARow) throw error
        await host.answer(error.request.approvalId, await ask(error.request))
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

/** A tool in the form of a chat completion's `tools`. */
export interface OpenAiTool {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

/** A model's call, from `message.tool_calls`. */
export interface OpenAiToolCall {
  id: string
  function?: { name: string; arguments: string }
}

/** The message that answers a model's call. */
export interface OpenAiToolMessage {
  role: 'tool'
  tool_call_id: string
  content: string
}

/** An agent's tools for a client of the OpenAI API. */
export interface OpenAiTools {
  tools: OpenAiTool[]
  /**
   * Returns the message that answers a model's call. Failures and requests for approval are returned as text. Never
   * throws because of what a model wrote.
   */
  answer(call: OpenAiToolCall, options?: { signal?: AbortSignal }): Promise<OpenAiToolMessage>
}

interface HasTools {
  toolList: readonly AgentTool[]
}

const chosenTools = ({ toolList }: HasTools, names: readonly string[] | undefined): readonly AgentTool[] =>
  toolList.filter(({ name }) => names === undefined || names.includes(name))

/**
 * Returns all or some of an agent's tools for any client with OpenAI's function tools.
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

/** Some models call a tool without arguments with an empty text. */
function argumentsOf(text: string): { isJson: boolean; value?: unknown } {
  if (text.trim() === '') return { isJson: true, value: {} }
  try {
    return { isJson: true, value: JSON.parse(text) }
  } catch {
    return { isJson: false }
  }
}

/** The constructor argument of a LangChain tool: `new DynamicStructuredTool(each)`. */
export interface LangChainTool {
  name: string
  description: string
  /** JSON Schema. */
  schema: Record<string, unknown>
  func(input: unknown, runManager?: unknown, config?: { signal?: AbortSignal | undefined }): Promise<string>
}

/**
 * Returns all or some of an agent's tools for LangChain. Failures and requests for approval are returned as text.
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

/** A tool for the AI SDK's `generateText({ tools })` and for Mastra's `new Agent({ tools })`. */
export interface AiSdkTool {
  description: string
  inputSchema: z.ZodObject
  execute(input: unknown, options?: { abortSignal?: AbortSignal | undefined }): Promise<string>
}

/**
 * Returns all or some of an agent's tools for the AI SDK and for Mastra. Failures and requests for approval are
 * returned as text.
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
 * Calls a tool for a model that reads words: returns its result, why it failed, or what to show the user. Throws only
 * for problems that concern the program alone: an abort, or a bug of ours.
 */
async function callInWords(tool: AgentTool, args: unknown, signal?: AbortSignal): Promise<string> {
  try {
    return (await tool.call(args, signal ? { signal } : {})).text
  } catch (error) {
    if (error instanceof ToolFailure) return sayFailure(error.facts, systemClock.now())
    if (error instanceof ApprovalRequired) return sayOpenRequest(error.request, tool.name, systemClock.now())
    throw error
  }
}
