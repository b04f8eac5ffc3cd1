import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isInnerAddress } from '#contract/wire/network-address.ts'
import { ClientError } from '../client-error.ts'

/** All addresses of a host. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

/**
 * Resolves for a connection to a host that somebody else has named, and fails where any of its addresses is of an inner
 * network. Net connects to what this answers and to nothing else, so no second answer of a name server counts.
 */
export const outerLookup =
  (resolve: Resolve = resolveBySystem): LookupFunction =>
  (host, { all }, done) => {
    resolve(host).then(
      addresses => {
        const [first] = addresses
        if (!first || addresses.some(({ address }) => isInnerAddress(address))) return done(leadsInside(), '')
        if (all) done(null, [...addresses])
        else done(null, first.address, first.family)
      },
      error => done(error, ''),
    )
  }

const leadsInside = (): ClientError =>
  new ClientError('not-allowed', "The download address leads into a network that is not the service's.", {
    wasSent: false,
  })

const resolveBySystem: Resolve = host =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
  })
