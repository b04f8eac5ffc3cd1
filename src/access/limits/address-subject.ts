import { isIPv6 } from 'node:net'

/** An address that is none is still counted, by its first characters. */
const unknownCharacters = 64

/**
 * What callers without an identity are counted by: an IPv4 address, or the /64 of an IPv6 one, because one household
 * or one machine has all of those.
 */
export function addressSubject(address: string): string {
  const [plain = ''] = address.split('%')
  if (!isIPv6(plain)) return plain.slice(0, unknownCharacters)
  const groups = groupsOf(plain)
  const [, , , , , marker, high = 0, low = 0] = groups
  const isMapped = marker === 0xffff && groups.slice(0, 5).every(group => group === 0)
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return `${groups
    .slice(0, 4)
    .map(group => group.toString(16))
    .join(':')}::/64`
}

/** The eight numbers of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser writes an embedded IPv4 address as two groups and every letter small.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  return [...before, ...new Array<string>(zeros).fill('0'), ...after].map(group => Number.parseInt(group, 16))
}
