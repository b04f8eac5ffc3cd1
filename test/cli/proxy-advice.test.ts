import { expect, test } from 'vitest'
import { proxyAdvice } from '#cli/serve/config.ts'

function at(host: string, ...trustedProxies: string[]) {
  const advice = proxyAdvice({ listen: { host, port: 8402 }, trustedProxies })
  return advice && (advice.next ? 'to do' : 'fine')
}

test.each([
  ['this machine alone', '127.0.0.1', [], null],
  ['an inner network', '10.0.0.5', [], null],
  ['every interface', '0.0.0.0', [], 'to do'],
  ['every interface of IPv6', '::', [], 'to do'],
  ['a public address', '8.8.8.8', [], 'to do'],
  ['a public address behind a named proxy', '8.8.8.8', ['10.0.0.0/8'], 'fine'],
])('a listener on %s', (_, host, proxies, advice) => {
  expect(at(host, ...proxies)).toBe(advice)
})
