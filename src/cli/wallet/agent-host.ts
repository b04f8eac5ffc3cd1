import type { AgentSettings } from '#agent/settings/settings.ts'
import type { PassphraseSource } from '#agent/tools/tool-host.ts'

type Host = ReturnType<typeof import('#agent/tools/tool-host.ts').createHost>

/** Creates the MCP server's host on first use: wallet and client are loaded by the first tool call, not at startup. */
export const agentHost = (settings: AgentSettings, passphrase: PassphraseSource) => async (): Host => {
  const [{ createHost }, { baseUrlOf, dataFolderOf }, { testMoneyFor, withLocalNodes }] = await Promise.all([
    import('#agent/tools/tool-host.ts'),
    import('#agent/settings/wallet-settings.ts'),
    import('./local-nodes.ts'),
  ])
  const settingsNow = async () => {
    const env = await withLocalNodes(settings.env, baseUrlOf(settings.env), dataFolderOf(settings.env))
    return { ...settings, env }
  }
  const [baseUrl, folder] = [baseUrlOf(settings.env), dataFolderOf(settings.env)]
  return createHost(settingsNow, passphrase, testMoneyFor(baseUrl, folder))
}
