import { z } from 'zod'
import { rpcCredits } from '#contract/operations/rpc.ts'
import { networkCount } from '../capabilities/rpc/bounds.ts'
import { nodesOfNetwork } from './bounds.ts'
import { count, HttpUrl, Milliseconds } from './config-values.ts'

const Network = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'small letters, digits and -: base-mainnet'),
  /** The next is asked where nobody is at one. */
  urls: z.tuple([HttpUrl], HttpUrl).refine(urls => urls.length <= nodesOfNetwork, `At most ${nodesOfNetwork} nodes`),
  timeoutMs: Milliseconds.optional(),
  baseCredits: count(1, rpcCredits.mostBase).optional(),
})

/** Blockchains whose nodes callers may ask; which methods they may send is the same on every service. */
export const NetworkConfigs = z
  .array(Network)
  .max(networkCount)
  .refine(networks => new Set(networks.map(({ slug }) => slug)).size === networks.length, 'Two networks share a slug')
