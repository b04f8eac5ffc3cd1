import { isLoopback, isPrivateHost } from '#contract/wire/network-address.ts'
import { ClientError } from './client-error.ts'

/** Where a service is; everything that carries a credential goes there and nowhere else. */
export interface ServiceAddress {
  /** Without a slash at its end: `https://host/api/v1`. */
  baseUrl: string
  origin: string
}

/** Reads a base URL: https, or http on this machine; no credentials, query or fragment in it. Throws `not-allowed`. */
export function serviceAddress(text: string): ServiceAddress {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url) throw refused('The address of the service is no URL.')
  if (url.username || url.password || url.search || url.hash) {
    throw refused('The address of the service carries more than host and path.')
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw refused('The address of the service is not https; plain http is for services on this machine.')
  }
  return { baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, '')}`, origin: url.origin }
}

const refused = (message: string): ClientError => new ClientError('not-allowed', message, { wasSent: false })

/**
 * Where a service says that a file is: https, or the service's own origin. A service must not lead its callers into their
 * own networks, so that a private address is taken on the service's own host only. Throws `not-allowed`.
 */
export function downloadAddress(text: string, service: ServiceAddress): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || (url.protocol !== 'https:' && url.origin !== service.origin)) {
    throw refused('The download address is not https.')
  }
  if (url.username || url.password) throw refused('The download address carries a user name.')
  if (isPrivateHost(url.hostname) && url.hostname !== new URL(service.baseUrl).hostname) {
    throw refused("The download address is inside of a network that is not the service's.")
  }
  return url
}
