import { BlockList } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPrivateAddress, isPublicAddress } from '#contract/wire/network-address.ts'

/** The first and the last address of a network, and their neighbours. */
test.each([
  ['9.255.255.255', 'public'],
  ['10.0.0.0', 'inner'],
  ['10.255.255.255', 'inner'],
  ['11.0.0.0', 'public'],
  ['0.0.0.0', 'inner'],
  ['100.63.255.255', 'public'],
  ['100.64.0.0', 'inner'],
  ['100.127.255.255', 'inner'],
  ['127.0.0.1', 'inner'],
  ['169.254.169.254', 'inner'],
  ['172.15.255.255', 'public'],
  ['172.16.0.0', 'inner'],
  ['172.31.255.255', 'inner'],
  ['192.168.255.255', 'inner'],
  ['192.0.0.255', 'reserved'],
  ['198.18.0.0', 'reserved'],
  ['198.19.255.255', 'reserved'],
  ['198.20.0.0', 'public'],
  ['224.0.0.1', 'reserved'],
  ['255.255.255.255', 'reserved'],
  ['::', 'inner'],
  ['::1', 'inner'],
  ['::ffff:8.8.8.8', 'inner'],
  ['fd00::1', 'inner'],
  ['fe80::1', 'inner'],
  ['fe80::1%eth0', 'inner'],
  ['ff02::1', 'inner'],
  ['2002:808:808::', 'inner'],
  ['2600::1', 'public'],
  ['2001:1ff:ffff::', 'reserved'],
  ['2001:db8::1', 'reserved'],
  ['3fff:fff::1', 'reserved'],
  ['3fff:1000::', 'public'],
  // What translates says where it leads in its last half; only a service's own callers are not sent there.
  ['64:ff9b::808:808', 'reserved'],
  ['64:ff9b::a00:1', 'inner'],
  ['64:ff9b::127.0.0.1', 'inner'],
])('%s is %s', (address, kind) => {
  expect([isPrivateAddress(address), isPublicAddress(address)]).toEqual([kind === 'inner', kind === 'public'])
})

test.each(['', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.0.0.0x', ':::', '1:2:3:4:5:6:7:8:9', 'localhost', '[::1]'])(
  'what is no address, as %j, is nowhere that anybody is led to',
  text => expect([isPrivateAddress(text), isPublicAddress(text)]).toEqual([true, false]),
)

test('no address is inner and public at once, and Node agrees on what a network holds', () => {
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8, 'ipv4')
  loopback.addSubnet('fc00::', 7, 'ipv6')
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), address => {
      const family = address.includes('.') && !address.includes(':') ? 'ipv4' : 'ipv6'
      if (loopback.check(address, family)) expect(isPrivateAddress(address)).toBe(true)
      expect(isPrivateAddress(address) && isPublicAddress(address)).toBe(false)
    }),
  )
})
