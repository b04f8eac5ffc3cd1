import { type Agent, createAgent } from '#agent/create-agent.ts'
import type { AgentOptions } from '#agent/settings/agent-options.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { localService } from './local-service.ts'
import { temporaryFolder } from './open-agent.ts'

type Service = Awaited<ReturnType<typeof localService>>

/** The options of an agent that pays a service from its funded wallet without approval. */
export const paysWithoutAsking = ({ baseUrl, wallet, payee }: Service, more: AgentOptions['policy'] = {}) => ({
  baseUrl,
  wallet: { key: wallet.privateKey },
  policy: { payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo: payee }], ...more },
})

export interface LocalAgent {
  service: Service
  agent: Agent
  outputFolder: string
  close(): Promise<void>
}

/** The real service and an agent that pays it. */
export async function localAgent(more: Pick<AgentOptions, 'onApproval' | 'policy'> = {}): Promise<LocalAgent> {
  const service = await localService()
  const outputFolder = temporaryFolder()
  const agent = await createAgent({
    ...more,
    ...paysWithoutAsking(service, more.policy),
    dataFolder: temporaryFolder(),
    outputFolder,
  })
  return {
    ...{ service, agent, outputFolder },
    async close() {
      await agent.close()
      await service.close()
    },
  }
}
