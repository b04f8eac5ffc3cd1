import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressSubject } from '#access/limits/guards.ts'

test.each([
  ['an IPv4 address alone', '192.0.2.7', '192.0.2.7'],
  ['an IPv4 address in IPv6 clothes', '::ffff:192.0.2.7', '192.0.2.7'],
  ['the same in hexadecimal', '::ffff:c000:207', '192.0.2.7'],
  ['the /64 of an IPv6 address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['the /64 of a shortened one', '2001:db8::1', '2001:db8:0:0::/64'],
  ['zeros that are written out', '2001:0DB8:0000:0002::9', '2001:db8:0:2::/64'],
  ['loopback', '::1', '0:0:0:0::/64'],
  ['a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['zeros at the end', '2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['no address', 'unix:', 'unix:'],
])('counts by %s', (_what, address, subject) => {
  expect(addressSubject(address)).toBe(subject)
})

const groups = fc
  .tuple(...Array.from({ length: 4 }, () => fc.nat(0xffff)))
  .map(numbers => numbers.map(number => number.toString(16)).join(':'))

test('the addresses of one /64 are one subject, those of another are not', () => {
  fc.assert(
    fc.property(groups, groups, groups, groups, (network, otherNetwork, host, otherHost) => {
      const subject = addressSubject(`${network}:${host}`)
      fc.pre(network !== '0:0:0:0' && otherNetwork !== '0:0:0:0')
      expect(addressSubject(`${network}:${otherHost}`)).toBe(subject)
      expect(addressSubject(`${otherNetwork}:${host}`) === subject).toBe(network === otherNetwork)
    }),
  )
})

test('whatever comes is bounded and never thrown at', () => {
  fc.assert(fc.property(fc.string({ maxLength: 500 }), text => addressSubject(text).length <= 64))
})
