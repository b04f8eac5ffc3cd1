import { expect, test } from 'vitest'
import { resolveSpecifiers } from '../../scripts/build/declarations.ts'

const imports = { '#contract/*': './src/contract/*', '#tools/*': './tools/*' }
const resolve = (path: string, text: string) => resolveSpecifiers(path, text, imports)

const rows: [what: string, path: string, written: string, published: string][] = [
  ['a room', 'src/agent/index.d.ts', `from '#contract/money.ts'`, `from '../contract/money.js'`],
  ['its own room', 'src/contract/a.d.ts', `from "#contract/money.ts"`, `from "./money.js"`],
  ['a room beside src', 'src/agent/fetch/pay.d.ts', `import('#tools/chat.ts')`, `import('../../../tools/chat.js')`],
  ['a path', 'src/agent/index.d.ts', `export * from './pay.ts'`, `export * from './pay.js'`],
  ['zod', 'src/contract/chat.d.ts', `from 'zod'`, `from 'zod'`],
  ['Node', 'src/agent/proxy.d.ts', `from 'node:http'`, `from 'node:http'`],
]

test.each(rows)('a published type leads to %s', (_what, path, written, published) => {
  expect(resolve(path, written)).toBe(published)
})

test.each([
  ['viem', /shows a type of viem/],
  ['#wallet/key.ts', /package\.json does not map/],
])('a published type of %s stops the build', (specifier, sentence) => {
  expect(() => resolve('src/agent/index.d.ts', `import type { A } from '${specifier}'`)).toThrow(sentence)
})
