import type { AgentSettings } from '#agent/settings/settings.ts'
import type { PassphraseSource } from '#agent/tools/create-host.ts'

type Host = ReturnType<typeof import('#agent/tools/create-host.ts').createHost>

/** Makes the host of a frame once it is called: wallet and client are loaded by the first call of a tool, not at start. */
export const agentHost = (settings: AgentSettings, passphrase: PassphraseSource) => async (): Host => {
  const [{ createHost }, { baseUrlOf, stateFolderOf }, { withLocalNodes }] = await Promise.all([
    import('#agent/tools/create-host.ts'),
    import('#agent/settings/wallet-settings.ts'),
    import('../wallet/local-nodes.ts'),
  ])
  const settingsNow = async () => {
    const env = await withLocalNodes(settings.env, baseUrlOf(settings.env), stateFolderOf(settings.env))
    return { ...settings, env }
  }
  return createHost(settingsNow, passphrase)
}
