import type { ToolHost } from '#toolkit/tool-host.ts'
import { createDesks } from '../create-desks.ts'
import type { AgentSettings } from '../settings/settings.ts'
import { stateFolderOf } from '../settings/wallet-settings.ts'
import { LiveHost } from './live-host.ts'
import { toolHost } from './tool-host.ts'

/** What opens an encrypted wallet, where something does. */
export interface PassphraseSource {
  /** The file that holds it, where it can be read again. */
  file: string | null
  read(): Promise<string | null>
}

/**
 * The host of a frame, from an environment's settings, as they are when it is asked for: `now` opens the wallet that is
 * there by then.
 */
export async function createHost(
  settingsNow: () => Promise<AgentSettings>,
  passphrase: PassphraseSource,
): Promise<ToolHost> {
  const open = async () => {
    const desks = await createDesks(await settingsNow(), await passphrase.read(), { mayStayLocked: true })
    return { host: toolHost(desks), isLocked: desks.core.lockedBecause !== null }
  }
  const folder = stateFolderOf((await settingsNow()).env)
  const live = new LiveHost(folder, passphrase.file === null ? [] : [passphrase.file], open)
  return { ...(await live.now()), now: () => live.now(), close: () => live.close() }
}
