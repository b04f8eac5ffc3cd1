import { isInnerAddress } from './network-address.ts'

/**
 * Whether the host of a URL, as `URL.hostname` writes it, names this machine or an address of an inner network. A name that
 * a resolver would lead there is not known by this.
 */
export function isInnerHost(host: string): boolean {
  const name = host.replace(/\.$/, '')
  if (name.startsWith('[')) return isInnerAddress(name.slice(1, -1))
  return name === 'localhost' || name.endsWith('.localhost') || (/^[\d.]+$/.test(name) && isInnerAddress(name))
}
