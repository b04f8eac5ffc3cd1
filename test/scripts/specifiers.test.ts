import { expect, test } from 'vitest'
import { relativeSpecifiers } from '../../scripts/build/declarations.ts'

const imports = { '#contract/*': './src/contract/*', '#tools/*': './tools/*' }
const resolve = (path: string, text: string) => relativeSpecifiers([path], text, imports)

const rows: [what: string, path: string, written: string, published: string][] = [
  ['a room', 'src/agent/index.d.ts', `from '#contract/money.ts'`, `from '../contract/money.js'`],
  ['its own room', 'src/contract/a.d.ts', `from "#contract/money.ts"`, `from "./money.js"`],
  ['a room beside src', 'src/agent/fetch/pay.d.ts', `import('#tools/chat.ts')`, `import('../../../tools/chat.js')`],
  ['a path', 'src/agent/index.d.ts', `export * from './pay.ts'`, `export * from './pay.js'`],
  ['zod', 'src/contract/chat.d.ts', `from 'zod'`, `from 'zod'`],
  ['Node', 'src/agent/proxy.d.ts', `from 'node:http'`, `from 'node:http'`],
]

test.each(rows)('a published type leads to %s', (_what, path, written, published) => {
  expect(resolve(path, written).text).toBe(published)
})

test.each([
  ['viem', /shows a type of viem/],
  ['#wallet/key.ts', /package\.json does not map/],
])('a published type of %s stops the build', (specifier, sentence) => {
  expect(() => resolve('src/agent/index.d.ts', `import type { A } from '${specifier}'`)).toThrow(sentence)
})

test('a foreign type is told with the way to it', () => {
  const way = ['src/agent/index.d.ts', 'src/wallet/keys.d.ts']
  const text = `import type { Account } from 'viem'`
  expect(() => relativeSpecifiers(way, text, imports)).toThrow('src/agent/index.d.ts → src/wallet/keys.d.ts shows')
})

test('a declaration says which others it needs', () => {
  const text = `import { z } from 'zod'\nimport type { Usd } from '#contract/money.ts'\nexport * from './pay.ts'\n`
  expect(resolve('src/agent/index.d.ts', text).leadsTo).toEqual(['src/contract/money.d.ts', 'src/agent/pay.d.ts'])
})
