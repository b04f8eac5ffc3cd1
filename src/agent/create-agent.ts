import type { WalletClient } from '#toolkit/tool-context.ts'
import { type PolicySettings, readPolicy } from '#wallet/rules/policy.ts'
import { AgentDesks } from './agent-desks.ts'
import { agentOf } from './agent-of.ts'
import type { CoreOptions } from './core-options.ts'
import type { Fetch } from './fetch/fetch.ts'
import type { UnpricedCalls } from './fetch/unpriced-calls.ts'
import { openCore } from './open-core.ts'
import { checkAgentOptions } from './settings/agent-options.ts'
import type { AgentTool, AgentToolResult } from './tools/agent-tool.ts'
import type { AskPerson } from './tools/person-asked.ts'

export interface AgentOptions
  extends Omit<CoreOptions, 'apiKey' | 'walletKey' | 'solanaKey' | 'policy' | 'secretFiles'> {
  /** An API key: calls are paid from its account, and nothing is ever topped up. */
  key?: string
  /** A wallet of its own: its EVM private key, hex, or one for Solana as wallets export it, or both. */
  wallet?: { key?: string; solanaKey?: string }
  /** What the wallet may do by itself; the defaults are 5 USD a payment, 10 a day, 20 in all. */
  policy?: Omit<PolicySettings, 'serviceUrl'>
  /** Answers what only a person decides. Without it such a call fails with the question. */
  onApproval?: AskPerson | undefined
  /** `allow` lets `fetch` make calls whose price cannot be known beforehand, bounded by the caps of payments; `ask` unless set. */
  unpricedCalls?: UnpricedCalls | undefined
}

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
  const core = await openCore({
    ...options,
    apiKey: key,
    walletKey: wallet?.key,
    solanaKey: wallet?.solanaKey,
    policy: readPolicy({ ...policy, serviceUrl: options.baseUrl }),
  })
  return agentOf(new AgentDesks(core), { onApproval, unpricedCalls })
}
