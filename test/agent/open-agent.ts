import { join } from 'node:path'
import { openAgent as open } from '#agent/open-agent.ts'
import type { OpenOptions } from '#agent/settings/agent-options.ts'
import { toolHost } from '#agent/tools/tool-host.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { queueVideo } from '#contract/operations/video.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { type PolicySettings, readPolicy } from '#wallet/rules/policy.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { payTo, walletKey } from './pretend-service.ts'

export { temporaryFolder }

export interface AgentSetUp extends Partial<OpenOptions> {
  baseUrl: string
  settings?: Omit<Partial<PolicySettings>, 'serviceUrl'>
  /** Without a payee that is known already. */
  isNewPayee?: boolean
}

/** An agent's host on a folder of its own, with a wallet unless told. */
export async function openAgent({ settings, isNewPayee = false, ...options }: AgentSetUp) {
  const dataFolder = options.dataFolder ?? temporaryFolder()
  const payees = isNewPayee ? [] : [{ network: evmNetwork, asset: usdcOnEvm, payTo }]
  const opened = await open({
    walletKey: options.apiKey === undefined ? walletKey : undefined,
    policy: readPolicy({ serviceUrl: options.baseUrl, payees, ...settings }),
    ...options,
    dataFolder,
    notesFolder: join(dataFolder, 'notes'),
  })
  const host = toolHost(opened)
  const context = (signal = new AbortController().signal) => host.context({ signal, report: () => {} })
  return {
    ...opened,
    host,
    dataFolder,
    context,
    chat: (prompt = 'hi', again = false, signal?: AbortSignal) =>
      context(signal).call(
        createChatCompletion,
        { params: undefined, query: undefined, body: { model: 'm', messages: [{ role: 'user', content: prompt }] } },
        { again },
      ),
    video: (prompt = 'a cat', again = false) =>
      context().start(
        queueVideo,
        {
          params: undefined,
          query: undefined,
          body: { model: 'm', prompt, duration: '5s', image_url: 'https://x.example/a.png' },
        },
        { again },
      ),
    /** Its folder stays until the last test of the file: another agent may be open on it. */
    close: () => host.close(),
  }
}
