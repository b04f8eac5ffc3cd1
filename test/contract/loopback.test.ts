import { expect, test } from 'vitest'
import { isLoopback } from '#contract/wire/network-address.ts'

test.each([
  ['http://localhost/', true],
  ['http://api.localhost/', true],
  ['http://127.0.0.1/', true],
  ['http://127.9.9.9/', true],
  // A URL turns 127.1 and 0x7f.1 into 127.0.0.1.
  ['http://127.1/', true],
  ['http://[::1]/', true],
  ['http://localhost.example/', false],
  ['http://notlocalhost/', false],
  ['http://127.0.0.1.example/', false],
  ['http://0.0.0.0/', false],
  ['http://[::ffff:127.0.0.1]/', false],
  ['http://10.0.0.1/', false],
])('%s is on this machine: %s', (url, isLocal) => {
  expect(isLoopback(new URL(url).hostname)).toBe(isLocal)
})
