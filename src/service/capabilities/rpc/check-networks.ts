import type { ChainNetwork } from '#engines/ports/engine.ts'
import { networkCount } from './bounds.ts'

const slugPattern = /^[a-z0-9][a-z0-9-]{0,63}$/

/** The same networks. Throws a plain sentence where one cannot be told from another, or cannot stand in a path. */
export function checkNetworks(networks: readonly ChainNetwork[]): readonly ChainNetwork[] {
  if (networks.length > networkCount) throw new Error(`A service has ${networkCount} networks at most.`)
  for (const { slug } of networks) {
    if (!slugPattern.test(slug))
      throw new Error(`${JSON.stringify(slug)} cannot name a network: write it as base-mainnet.`)
  }
  if (new Set(networks.map(({ slug }) => slug)).size < networks.length) throw new Error('Two networks share a name.')
  return networks
}
