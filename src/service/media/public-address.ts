import { BlockList, isIP } from 'node:net'

/** Of IPv4 what is not the public internet (IANA's special-purpose registry, multicast and what is reserved). */
const closedV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** Within global unicast: tunnels that lead to any IPv4 address, and what is for documents and protocols. */
const closedV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

/** Global unicast. Loopback, mapped and translated IPv4, unique local, link-local and multicast lie outside of it. */
const openV6 = listOf(['2000::/3'], 'ipv6')
const closed = { ipv4: listOf(closedV4, 'ipv4'), ipv6: listOf(closedV6, 'ipv6') }

/** Whether an IP address, as a resolver or the URL parser writes it, is one of the public internet. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !closed.ipv4.check(address, 'ipv4')
    case 6:
      return openV6.check(address, 'ipv6') && !closed.ipv6.check(address, 'ipv6')
    default:
      return false
  }
}

function listOf(subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [network = '', prefix] = subnet.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}
