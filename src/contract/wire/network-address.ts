/** IPv4 networks that only a machine or its own network reaches: this host, private, shared, loopback, link-local. */
const privateV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
].map(v4Range)

/** Everything else that is not the public internet (IANA's special-purpose registry, multicast and reserved ranges). */
const reservedV4 = [
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(v4Range)

/** Global unicast. Loopback, mapped IPv4, unique local, link-local and multicast are outside it. */
const globalV6 = v6Range('2000::/3')
/** Inside global unicast, the tunnel that leads to any IPv4 address. */
const tunnelV6 = v6Range('2002::/16')
/** Inside global unicast, ranges for documentation and protocols. */
const reservedV6 = ['2001::/23', '2001:db8::/32', '2620:4f:8000::/48', '3fff::/20'].map(v6Range)
/** On networks that reach IPv4 only by translation, a resolver puts the IPv4 address into the last 32 bits. */
const translatedV4 = v6Range('64:ff9b::/96')

/**
 * Whether an IP address, as a resolver writes it, belongs to this machine or a private network; any other text counts
 * as private.
 */
export function isPrivateAddress(address: string): boolean {
  const four = v4Bits(address)
  if (four !== null) return privateV4.some(within(four))
  const six = v6Bits(address)
  if (six === null) return true
  if (within(six)(translatedV4)) return privateV4.some(within(six & 0xffff_ffffn))
  return !within(six)(globalV6) || within(six)(tunnelV6)
}

/** Whether an IP address, as a resolver or the URL parser writes it, is on the public internet. */
export function isPublicAddress(address: string): boolean {
  const four = v4Bits(address)
  if (four !== null) return ![...privateV4, ...reservedV4].some(within(four))
  const six = v6Bits(address)
  return six !== null && within(six)(globalV6) && ![tunnelV6, ...reservedV6].some(within(six))
}

interface Range {
  bits: bigint
  /** Number of bits after the network prefix. */
  hostBits: bigint
}

const within =
  (address: bigint) =>
  ({ bits, hostBits }: Range): boolean =>
    address >> hostBits === bits >> hostBits

function v4Range(text: string): Range {
  const [network = '', prefix] = text.split('/')
  return { bits: v4Bits(network) ?? 0n, hostBits: 32n - BigInt(prefix ?? 32) }
}

function v6Range(text: string): Range {
  const [network = '', prefix] = text.split('/')
  return { bits: v6Bits(network) ?? 0n, hostBits: 128n - BigInt(prefix ?? 128) }
}

function v4Bits(address: string): bigint | null {
  if (!/^\d{1,3}(?:\.\d{1,3}){3}$/.test(address)) return null
  const bytes = address.split('.').map(Number)
  return bytes.every(byte => byte < 256) ? bytes.reduce((bits, byte) => (bits << 8n) | BigInt(byte), 0n) : null
}

/** Parses every spelling that the URL parser accepts; an address with a zone, such as `fe80::1%eth0`, is not one. */
function v6Bits(address: string): bigint | null {
  const url = `http://[${address}]/`
  if (!/^[\da-f:.]+$/i.test(address) || !URL.canParse(url)) return null
  const [before = '', after] = new URL(url).hostname.slice(1, -1).split('::')
  const [first, last] = [groupsOf(before), groupsOf(after ?? '')]
  const zeros = new Array<bigint>(8 - first.length - last.length).fill(0n)
  return [...first, ...zeros, ...last].reduce((bits, group) => (bits << 16n) | group, 0n)
}

function groupsOf(text: string): bigint[] {
  return text === '' ? [] : text.split(':').map(group => BigInt(`0x${group}`))
}

/**
 * Whether the host of a URL, as `URL.hostname` writes it, names this machine or a private address. Does not resolve
 * names.
 */
export function isPrivateHost(host: string): boolean {
  const name = host.replace(/\.$/, '')
  if (name.startsWith('[')) return isPrivateAddress(name.slice(1, -1))
  return name === 'localhost' || name.endsWith('.localhost') || (/^[\d.]+$/.test(name) && isPrivateAddress(name))
}

/** Whether the host of a URL, as `URL.hostname` writes it, is this machine: only there is plain http safe. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
