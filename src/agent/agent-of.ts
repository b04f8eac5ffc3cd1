import type { AgentDesks } from './agent-desks.ts'
import type { Agent, AgentOptions } from './create-agent.ts'
import { payingFetch } from './fetch/paying-fetch.ts'
import { agentTool } from './tools/agent-tool.ts'
import { catalogue } from './tools/catalogue.ts'
import { toolContext } from './tools/tool-context.ts'
import { toolHost } from './tools/tool-host.ts'

type Deciding = Pick<AgentOptions, 'onApproval' | 'unpricedCalls'>

/** What a program is given, around desks that are open. */
export async function agentOf(desks: AgentDesks, { onApproval, unpricedCalls }: Deciding): Promise<Agent> {
  const host = toolHost(desks)
  const loaded = await Promise.all(Object.values(catalogue.tools).map(load => load()))
  const tools = loaded.map(tool => agentTool(tool, host, onApproval))
  const { models, receipts } = desks
  const rules = { models, receipts, ask: onApproval, unpriced: unpricedCalls, takesConsents: true }
  return {
    fetch: payingFetch(desks.core, rules),
    tools,
    async call(name, args = {}, options) {
      const tool = tools.find(each => each.name === name)
      if (!tool) throw new TypeError(`There is no tool ${name}; there are ${tools.map(each => each.name).join(', ')}.`)
      return tool.call(args, options)
    },
    wallet: toolContext(desks, { signal: new AbortController().signal, report: () => {} }).wallet,
    close: () => host.close(),
  }
}
