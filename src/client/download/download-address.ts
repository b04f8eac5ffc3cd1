import { isInnerHost } from '#contract/wire/network-address.ts'
import { ClientError } from '../client-error.ts'
import type { ServiceAddress } from '../service-address.ts'

/**
 * Where a service says that a file is: https, or the service's own origin. A service must not lead its callers into their
 * own networks, so that an inner address is taken on the service's own host only. Throws `not-allowed`.
 */
export function downloadAddress(text: string, service: ServiceAddress): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || (url.protocol !== 'https:' && url.origin !== service.origin)) {
    throw refused('The download address is not https.')
  }
  if (url.username || url.password) throw refused('The download address carries a user name.')
  if (isInnerHost(url.hostname) && url.hostname !== new URL(service.baseUrl).hostname) {
    throw refused("The download address is inside of a network that is not the service's.")
  }
  return url
}

const refused = (message: string): ClientError => new ClientError('not-allowed', message, { wasSent: false })
