import { access, constants } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { findAnvilBinary } from '#local/evm/anvil.ts'

const missing = (part: string) => (specifier: string) => {
  if (specifier.includes(part)) throw new Error(`Cannot find module ${specifier}`)
  return `/modules/${specifier}`
}

test('the binary of this machine is found and can be run', async () => {
  await expect(access(findAnvilBinary(), constants.X_OK)).resolves.toBeUndefined()
})

test.each([
  ['linux', 'x64', '/modules/@foundry-rs/anvil-linux-amd64/bin/anvil'],
  ['darwin', 'arm64', '/modules/@foundry-rs/anvil-darwin-arm64/bin/anvil'],
  ['win32', 'x64', '/modules/@foundry-rs/anvil-win32-amd64/bin/anvil.exe'],
])('on %s %s it is %s', (platform, architecture, path) => {
  expect(findAnvilBinary(missing('nothing'), platform, architecture)).toBe(path)
})

test.each([
  [
    'anvil/package.json',
    'linux',
    'x64',
    /needs the package @foundry-rs\/anvil, which is not installed; run npm install/,
  ],
  ['anvil-linux', 'linux', 'x64', /needs the package @foundry-rs\/anvil-linux-amd64, which is not installed; run/],
  ['anvil-sunos', 'sunos', 'riscv64', /@foundry-rs\/anvil-sunos-riscv64.*on a platform that anvil supports/],
])('without %s there is one sentence', (part, platform, architecture, sentence) => {
  expect(() => findAnvilBinary(missing(part), platform, architecture)).toThrow(sentence)
})
