/** Only the owner can send money out: no function that a model, a tool or a program can call leads there. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { targetOf } from './rooms.ts'
import { parseFile } from './source-file.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const money = ['src/wallet/send/send-money.ts', 'src/agent/wallet/send-from-wallet.ts']

/** Code of these files is reached by an import of a value, at once or later. */
function reachedFrom(path: string, seen: Set<string>): void {
  if (seen.has(path)) return
  seen.add(path)
  const { imports } = parseFile({ path, text: readFileSync(`${root}${path}`, 'utf8') })
  for (const { specifier, kind } of imports) {
    const target = kind === 'value' ? targetOf(path, specifier) : undefined
    if (target?.endsWith('.ts')) reachedFrom(target, seen)
  }
}

const doors = [
  ...globSync(['tools/**/*.ts', 'prompts/**/*.ts', 'resources/**/*.ts', 'src/mcp/**/*.ts', 'src/toolkit/**/*.ts'], {
    cwd: root,
  }),
  ...['agent', 'contract', 'toolkit', 'service'].map(room => `src/${room}/index.ts`),
  ...['mcp', 'call', 'proxy'].map(name => `src/cli/commands/${name}.ts`),
].map(path => path.replaceAll('\\', '/'))

test('no tool, MCP server, library entry or proxy reaches the sending of money', () => {
  const seen = new Set<string>()
  for (const door of doors) reachedFrom(door, seen)
  expect([...seen]).toContain('src/wallet/payment/pay.ts')
  expect([...seen].filter(path => money.includes(path))).toEqual([])
})

test('the terminal reaches it', () => {
  const seen = new Set<string>()
  reachedFrom('src/cli/commands/wallet.ts', seen)
  expect([...seen]).toEqual(expect.arrayContaining(money))
})
