import type { WalletClient } from '#toolkit/tool-context.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { payingFetch } from './fetch/paying-fetch.ts'
import type { Fetch } from './fetch/refused-answer.ts'
import { agentFromSettings, type OpenAgent, openAgent } from './open-agent.ts'
import {
  type AgentOptions,
  checkAgentOptions,
  checkEnvironmentOptions,
  type EnvironmentAgentOptions,
} from './settings/agent-options.ts'
import { readSettings } from './settings/settings.ts'
import {
  type AgentTool,
  agentTool,
  askingWallet,
  type CallOptions,
  type CallTool,
  type ToolCalls,
} from './tools/agent-tool.ts'
import { catalogue } from './tools/catalogue.ts'
import { toolContext } from './tools/tool-context.ts'
import { toolHost } from './tools/tool-host.ts'

/**
 * An agent that pays for its own calls to one service.
 *
 * @example
 * const agent = await agentFromEnvironment()
 * const { output } = await agent.tools.chat({ model: 'demo-chat', prompt: 'Say hello.', max_tokens: 50 })
 * console.log(output.answer, output.charged_usd)
 * await agent.close()
 */
export interface Agent {
  /**
   * Sends requests to the service's origin only; pays once on 402, and answers 403 if the policy refuses. Fits the
   * `fetch` option of OpenAI's client.
   *
   * @example
   * const openai = new OpenAI({ baseURL, apiKey: 'unused', fetch: agent.fetch })
   */
  fetch: Fetch
  /**
   * Every tool as a function with its own arguments and output. A call waits until its work has ended. Throws
   * `ToolFailure`, which says what was charged, or `ApprovalRequired` if the user must decide and `onApproval` is not set.
   *
   * @example
   * const { output } = await agent.tools.video_create({ model, prompt, duration: '5s' })
   * const done = await agent.tools.job_wait({ job_id: output.job_id })
   */
  tools: ToolCalls
  /**
   * Calls a tool by name. Throws a `TypeError` for an unknown name.
   *
   * @example
   * const { output } = await agent.call('limits')
   */
  call: CallTool
  /** The tools with their descriptions and schemas, to pass to a model; see `openAiTools` and `aiSdkTools`. */
  toolList: readonly AgentTool[]
  /** The wallet's balance, top-ups, receipts and charges. */
  wallet: WalletClient
  /** Waits for pending writes and closes all connections. */
  close(): Promise<void>
}

/**
 * Creates an agent with the options of a program. Sends and writes nothing before the first use. Rejects with a
 * `TypeError` that names a wrong or unknown option.
 *
 * @example
 * const agent = await createAgent({ baseUrl, wallet: { key }, policy: { maxDayUsd: '2' } })
 */
export async function createAgent(given: AgentOptions): Promise<Agent> {
  checkAgentOptions(given)
  const { key, wallet, policy, onApproval, unpricedCalls, ...options } = given
  const ofWallet = { apiKey: key, walletKey: wallet?.key, solanaKey: wallet?.solanaKey }
  try {
    const rules = readPolicy({ ...policy, serviceUrl: options.baseUrl })
    return await agentOf(await openAgent({ ...options, ...ofWallet, policy: rules }), { onApproval, unpricedCalls })
  } catch (error) {
    throw isWrongOption(error) ? new TypeError(`createAgent: ${error.message}`) : error
  }
}

/** A key or a setting of the policy that cannot be read. */
const isWrongOption = (error: unknown): error is WalletRefusal =>
  error instanceof WalletRefusal && (error.rule === 'key' || error.rule === 'settings')

type Deciding = Pick<AgentOptions, 'onApproval' | 'unpricedCalls'>

/** Wraps an open agent for a program. */
async function agentOf(agent: OpenAgent, { onApproval, unpricedCalls }: Deciding): Promise<Agent> {
  const host = toolHost(agent)
  const loaded = await Promise.all(Object.values(catalogue.tools).map(load => load()))
  const toolList = loaded.map(tool => agentTool(tool, host, onApproval))
  const rules = { ask: onApproval, unpriced: unpricedCalls, takesConsents: true }
  return {
    fetch: payingFetch(agent, rules),
    toolList,
    ...typedCalls(toolList),
    wallet: askingWallet(
      toolContext(agent, { signal: new AbortController().signal, report: () => {} }).wallet,
      host,
      onApproval,
    ),
    close: () => host.close(),
  }
}

/** The types of arguments and outputs come from the tools' schemas, which validate each call. */
function typedCalls(toolList: readonly AgentTool[]): Pick<Agent, 'tools' | 'call'> {
  const tools = Object.fromEntries(
    toolList.map(({ name, call }) => [name, (args: object = {}, options?: CallOptions) => call(args, options)]),
  )
  const call = async (name: string, ...given: [args?: object, options?: CallOptions]) => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
    if (!tool) throw new TypeError(`There is no tool ${name}; there are ${Object.keys(tools).join(', ')}.`)
    return tool(...given)
  }
  return { tools: tools as unknown as ToolCalls, call: call as unknown as CallTool }
}

/**
 * Creates an agent with the settings of `farebox mcp`: FAREBOX_BASE_URL, a wallet or FAREBOX_API_KEY, and the caps.
 * Throws a `TypeError` that names a wrong variable or option.
 *
 * @example
 * const agent = await agentFromEnvironment({ onApproval: () => ({ kind: 'approve', approved: false }) })
 */
export async function agentFromEnvironment(given: EnvironmentAgentOptions = {}): Promise<Agent> {
  checkEnvironmentOptions(given)
  const { env = process.env, passphrase, onApproval, unpricedCalls } = given
  const { settings, problems } = readSettings(env)
  if (problems.length > 0) throw new TypeError(problems.join(' '))
  const deciding = { onApproval, unpricedCalls: unpricedCalls ?? settings.unpricedCalls }
  return agentOf(await agentFromSettings(settings, passphrase ?? null), deciding)
}
