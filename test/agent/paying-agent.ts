import { closedAfterEach } from '../closed-after-each.ts'
import { type AgentSetUp, openAgent } from './open-agent.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'

/** Agents before a service that is paid; all are closed after each test of the file. */
export function payingAgents() {
  const closing = closedAfterEach()
  async function setUp(service: PretendOptions = {}, agent: Partial<AgentSetUp> = {}) {
    const server = await pretendService(service)
    closing.push(server.close)
    return { server, agent: await open({ baseUrl: server.baseUrl, ...agent }) }
  }

  async function open(options: AgentSetUp) {
    const agent = await openAgent(options)
    closing.push(agent.close)
    return agent
  }
  return { setUp, open, closing }
}
