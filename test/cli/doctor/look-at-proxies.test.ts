import { expect, test } from 'vitest'
import { lookAtProxies } from '../../../src/cli/doctor/look-at-proxies.ts'

const at = (host: string, ...trustedProxies: string[]) =>
  lookAtProxies({ listen: { host, port: 8402 }, trustedProxies }).map(({ state }) => state)

test.each([
  ['this machine alone', '127.0.0.1', [], []],
  ['an inner network', '10.0.0.5', [], []],
  ['every interface', '0.0.0.0', [], ['note']],
  ['every interface of IPv6', '::', [], ['note']],
  ['a public address', '8.8.8.8', [], ['note']],
  ['a public address behind a named proxy', '8.8.8.8', ['10.0.0.0/8'], ['ok']],
])('a listener on %s', (_, host, proxies, states) => {
  expect(at(host, ...proxies)).toEqual(states)
})
