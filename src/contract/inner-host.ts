/** Networks of IPv4 that only a machine or its own network reaches: this host, private, shared, loopback, link-local. */
const innerV4 =
  /^(?:0|10|127)\.|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|^169\.254\.|^172\.(?:1[6-9]|2\d|3[01])\.|^192\.168\./

/** Global unicast without the tunnel that leads to any IPv4. All else is this host, mapped, unique local or link-local. */
const outerV6 = /^\[(?!2002:)[23][0-9a-f]{3}:/

/**
 * Whether the host of a URL, as `URL.hostname` writes it, names this machine or an address of an inner network. A name that
 * a resolver would lead there is not known by this.
 */
export function isInnerHost(host: string): boolean {
  const name = host.replace(/\.$/, '')
  if (name.startsWith('[')) return !outerV6.test(name)
  return name === 'localhost' || name.endsWith('.localhost') || (innerV4.test(name) && /^[\d.]+$/.test(name))
}
