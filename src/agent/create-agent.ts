import type { WalletClient } from '#toolkit/tool-context.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
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
import { type AgentTool, type AgentToolResult, agentTool } from './tools/agent-tool.ts'
import { catalogue } from './tools/catalogue.ts'
import { toolContext } from './tools/tool-context.ts'
import { toolHost } from './tools/tool-host.ts'

/** An agent that pays its own way at one service. */
export interface Agent {
  /**
   * For the service's origin only; pays once on 402, and answers 403 to what the policy refuses. Fits the `fetch` option
   * of OpenAI's client.
   */
  fetch: Fetch
  tools: readonly AgentTool[]
  /** A tool by its name. Throws as its `call` does, and a `TypeError` for a name that is none. */
  call(tool: string, args?: object, options?: { signal?: AbortSignal }): Promise<AgentToolResult>
  wallet: WalletClient
  close(): Promise<void>
}

/**
 * Nothing is sent and nothing is written before the first use. Rejects with a `TypeError` that names an option which is
 * wrong or unknown.
 */
export async function createAgent(given: AgentOptions): Promise<Agent> {
  checkAgentOptions(given)
  const { key, wallet, policy, onApproval, unpricedCalls, ...options } = given
  const agent = await openAgent({
    ...options,
    apiKey: key,
    walletKey: wallet?.key,
    solanaKey: wallet?.solanaKey,
    policy: readPolicy({ ...policy, serviceUrl: options.baseUrl }),
  })
  return agentOf(agent, { onApproval, unpricedCalls })
}

type Deciding = Pick<AgentOptions, 'onApproval' | 'unpricedCalls'>

/** What a program is given, with an open agent. */
async function agentOf(agent: OpenAgent, { onApproval, unpricedCalls }: Deciding): Promise<Agent> {
  const host = toolHost(agent)
  const loaded = await Promise.all(Object.values(catalogue.tools).map(load => load()))
  const tools = loaded.map(tool => agentTool(tool, host, onApproval))
  const rules = { ask: onApproval, unpriced: unpricedCalls, takesConsents: true }
  return {
    fetch: payingFetch(agent, rules),
    tools,
    async call(name, args = {}, options) {
      const tool = tools.find(each => each.name === name)
      if (!tool) throw new TypeError(`There is no tool ${name}; there are ${tools.map(each => each.name).join(', ')}.`)
      return tool.call(args, options)
    },
    wallet: toolContext(agent, { signal: new AbortController().signal, report: () => {} }).wallet,
    close: () => host.close(),
  }
}

/**
 * An agent with the settings that `farebox mcp` takes: FAREBOX_BASE_URL, a wallet or FAREBOX_API_KEY, and the caps.
 * Throws a `TypeError` that names the variable or the option which is wrong.
 */
export async function agentFromEnvironment(given: EnvironmentAgentOptions = {}): Promise<Agent> {
  checkEnvironmentOptions(given)
  const { env = process.env, passphrase, onApproval, unpricedCalls } = given
  const { settings, problems } = readSettings(env)
  if (problems.length > 0) throw new TypeError(problems.join(' '))
  const deciding = { onApproval, unpricedCalls: unpricedCalls ?? settings.unpricedCalls }
  return agentOf(await agentFromSettings(settings, passphrase ?? null), deciding)
}
