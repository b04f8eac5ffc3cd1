import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AgentOptions, createAgent } from '#agent/create-agent.ts'
import { rails } from './rails.ts'

/** A key of nobody, made for these fixtures. */
export const walletKey = '4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'

export const evmPayee = {
  network: rails.evm.network,
  asset: rails.evm.asset,
  payTo: rails.evm.legitimate,
}

/** An agent in the default policy, whose owner has named the legitimate payee; with a folder of its own. */
export async function hiredAgent(options: Pick<AgentOptions, 'baseUrl' | 'policy' | 'onApproval' | 'clock'>) {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-redteam-'))
  const agent = await createAgent({
    ...options,
    policy: { payees: [evmPayee], ...options.policy },
    wallet: { key: walletKey },
    stateFolder: folder,
    // Each of these wallets counts for itself, although they have one key.
    ...{ notesFolder: join(folder, 'notes') },
  })
  const tool = (name: string) => {
    const found = agent.tools.find(each => each.name === name)
    if (!found) throw new Error(`There is no tool ${name}.`)
    return found
  }
  return {
    agent,
    call: (name: string, args: unknown) => tool(name).call(args),
    async close() {
      await agent.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Hired = Awaited<ReturnType<typeof hiredAgent>>

/** What callers need of an agent, and what another wallet has to have to be tried in its place. */
export interface HiredAgent extends Omit<Hired, 'agent'> {
  agent: { fetch: Hired['agent']['fetch']; wallet: Pick<Hired['agent']['wallet'], 'receipts'> }
}
