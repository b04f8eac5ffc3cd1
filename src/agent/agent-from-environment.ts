import { agentOf } from './agent-of.ts'
import type { Agent, AgentOptions } from './create-agent.ts'
import { createDesks } from './create-desks.ts'
import { checkEnvironmentOptions } from './settings/agent-options.ts'
import { readSettings } from './settings/settings.ts'
import type { AgentEnvironment } from './settings/wallet-settings.ts'

export interface EnvironmentAgentOptions extends Pick<AgentOptions, 'onApproval' | 'unpricedCalls'> {
  /** `process.env` unless told. */
  env?: AgentEnvironment
  /** Opens the wallet of `farebox wallet create` in the data folder. */
  passphrase?: string
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
  return agentOf(await createDesks(settings, passphrase ?? null), deciding)
}
