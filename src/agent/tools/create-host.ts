import type { ToolHost } from '#toolkit/tool-host.ts'
import { createDesks } from '../create-desks.ts'
import type { AgentSettings } from '../settings/settings.ts'
import { toolHost } from './tool-host.ts'

/** The host of a frame, from an environment's settings; the passphrase opens an encrypted wallet, where there is one. */
export const createHost = async (settings: AgentSettings, passphrase: string | null): Promise<ToolHost> =>
  toolHost(await createDesks(settings, passphrase, { mayStayLocked: true }))
