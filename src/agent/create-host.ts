import type { ToolHost } from '#toolkit/tool-host.ts'
import { defaultRails } from '#wallet/policy.ts'
import { AgentDesks } from './agent-desks.ts'
import { openCore } from './open-core.ts'
import type { AgentSettings } from './settings.ts'
import { toolHost } from './tool-host.ts'
import { baseUrlOf, policyOf, stateFolderOf } from './wallet-settings.ts'

/** The host of a frame, from an environment's settings. */
export async function createHost(settings: AgentSettings): Promise<ToolHost> {
  const { env, payee, ...given } = settings
  const payees = payee === undefined ? [] : defaultRails.map(rail => ({ ...rail, payTo: payee }))
  const core = await openCore({
    baseUrl: baseUrlOf(env),
    apiKey: given.apiKey,
    walletKey: given.walletKey,
    vendor: given.vendor,
    outputFolder: given.outputFolder,
    stateFolder: stateFolderOf(env),
    policy: policyOf(env, { payees }),
  })
  return toolHost(new AgentDesks(core))
}
