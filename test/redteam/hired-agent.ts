import { createPrivateKey, createPublicKey } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent } from '#agent/create-agent.ts'
import type { AgentOptions } from '#agent/settings/agent-options.ts'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { canaryEvmKey, canarySolanaSeed } from '../canary/canaries.ts'
import { type RailName, rails } from './rails.ts'
import { solanaNode } from './solana-node.ts'

export const walletKey = canaryEvmKey

/** An unused Solana key, as wallets export it. */
export const solanaKey = keyOfSeed(canarySolanaSeed)

/** The right payee of each rail, as named by the wallet's owner. */
export const payees = Object.values(rails).map(({ network, asset, legitimate }) => ({
  ...{ network, asset },
  payTo: legitimate,
}))

export interface HireOptions extends Pick<AgentOptions, 'baseUrl' | 'policy' | 'onApproval' | 'clock'> {
  /** Its wallet has the key of this rail alone. */
  rail: RailName
}

/** An agent in the default policy, whose owner has named the legitimate payees; with a folder of its own. */
export async function hiredAgent({ rail, ...options }: HireOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-redteam-'))
  const node = rail === 'svm' ? await solanaNode() : null
  const agent = await createAgent({
    ...options,
    policy: { payees, ...options.policy },
    wallet: node ? { solanaKey } : { key: walletKey },
    ...(node ? { nodes: { solana: node.url } } : {}),
    dataFolder: folder,
    // Each of these wallets counts for itself, although they have one key.
    ...{ notesFolder: join(folder, 'notes') },
  })
  const tool = (name: string) => {
    const found = agent.toolList.find(each => each.name === name)
    if (!found) throw new Error(`There is no tool ${name}.`)
    return found
  }
  return {
    agent,
    call: (name: string, args: unknown) => tool(name).call(args),
    async close() {
      await agent.close()
      await node?.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Hired = Awaited<ReturnType<typeof hiredAgent>>

/** What callers need of an agent, and what another wallet has to have to be tried in its place. */
export interface HiredAgent extends Omit<Hired, 'agent'> {
  agent: { fetch: Hired['agent']['fetch']; wallet: Pick<Hired['agent']['wallet'], 'receipts'> }
}

/** The secret half and the public one after it, in base58. */
function keyOfSeed(seed: Uint8Array): string {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const jwk = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({ format: 'jwk' })
  return encodeBase58(Buffer.concat([seed, Buffer.from(jwk.x ?? '', 'base64url')]))
}
