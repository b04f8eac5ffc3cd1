import { expect, test } from 'vitest'
import { rules } from './rules.ts'
import { parseFile } from './source-file.ts'

const [arrows, packages, parts, folders, crowded, eager, cycles, fileSize, functionSize, stdout, armed, names, words] =
  Object.keys(rules)
const lines = (count: number) => 'x\n'.repeat(count)
const longFunction = `const long = () => {\n${lines(69)}}\n`
/** Files beside the folders of a room. */
const beside = (count: number) =>
  [...'abcdefghi'].slice(0, count).map(name => [`src/host/${name}.ts`, ''] as [string, string])
const longTest = `test('long', () => {\n${lines(100)}})\n`

type Planted = [
  rule: string | undefined,
  what: string,
  path: string,
  text: string,
  ...others: [path: string, text: string][],
]

const violations: Planted[] = [
  [arrows, 'a value of another room', 'src/mcp/serve.ts', `import { sign } from '#wallet/sign.ts'`],
  [arrows, 'a type of another room', 'src/service/http/app.ts', `import type { Key } from '#wallet/key.ts'`],
  [arrows, 'a type in place', 'src/service/http/app.ts', `type Key = import('#wallet/key.ts').Key`],
  [arrows, 'a room by a path', 'src/client/call.ts', `import { key } from '../wallet/key.ts'`],
  [arrows, 'an allowed room by a path', 'src/client/call.ts', `import { money } from '../contract/money.ts'`],
  [arrows, 'a room loaded later', 'tools/chat.ts', `const agent = await import('#agent/index.ts')`],
  [arrows, 'a room passed on', 'src/contract/index.ts', `export * from '#toolkit/index.ts'`],
  [arrows, 'a computed name', 'src/mcp/serve.ts', `const load = name => import(\`#tools/\${name}.ts\`)`],
  [arrows, 'a test from a room', 'src/wallet/key.ts', `import { fake } from '../../test/wallet/fake.ts'`],
  [packages, 'a package in the contract', 'src/contract/address.ts', `import { isAddress } from 'viem'`],
  [packages, 'a deep one', 'tools/chat.ts', `import type { Client } from '@x402/core/client'`],
  [parts, 'a rail with the machine', 'src/payments/evm/a.ts', `import { b } from '../top-ups/b.ts'`],
  [parts, 'a type of the other rail', 'src/payments/evm/a.ts', `import type { B } from '../solana/b.ts'`],
  [parts, 'who puts them together', 'src/payments/solana/a.ts', `import { b } from '../open-payments.ts'`],
  [parts, 'a new rail with another one', 'src/payments/else/a.ts', `import { b } from '../evm/b.ts'`],
  [eager, 'a room in the frame', 'src/cli/main.ts', `import { serve } from '#service/index.ts'`],
  [eager, 'a command in the frame', 'src/cli/commands.ts', `import { up } from './commands/up.ts'`],
  [
    eager,
    'a room behind the frame',
    'src/cli/main.ts',
    `import { output } from './output.ts'`,
    ['src/cli/output.ts', `import { say } from '#toolkit/say.ts'`],
  ],
  [
    folders,
    'types in a circle',
    'src/agent/calls/a.ts',
    `import type { B } from '../prices/b.ts'`,
    ['src/agent/prices/b.ts', `import type { C } from '../media/c.ts'`],
    ['src/agent/media/c.ts', `import { d } from '#agent/calls/d.ts'`],
  ],
  [crowded, 'nine files', 'src/host/log.ts', '', ...beside(8)],
  [cycles, 'two files', 'src/wallet/a.ts', `import './b.ts'`, ['src/wallet/b.ts', `import { a } from '#wallet/a.ts'`]],
  [
    cycles,
    'an inline type',
    'src/wallet/a.ts',
    `import { type B } from './b.ts'`,
    ['src/wallet/b.ts', `import './a.ts'`],
  ],
  [armed, 'a file that is not there', 'test/kills/arm.ts', `replaceModules(here, [['wallet/a.ts', 'armed-a.ts']])`],
  [
    armed,
    'a name that nobody imports',
    'test/kills/arm.ts',
    `replaceModules(here, [['wallet/a.ts', 'armed-a.ts']])`,
    ['test/kills/armed-a.ts', `export * from '#wallet/a.ts'\nexport const a = 2`],
    ['src/wallet/a.ts', `export const a = 1`],
  ],
  [fileSize, '401 lines', 'src/wallet/long.ts', lines(401)],
  [functionSize, '71 lines', 'src/wallet/long.ts', longFunction],
  [functionSize, 'a method', 'src/wallet/long.ts', `class Long {\n  method() {\n${lines(69)}  }\n}`],
  [functionSize, 'a function in a test', 'test/wallet/long.test.ts', longFunction],
  [functionSize, 'a function in a test block', 'test/wallet/long.test.ts', `test('x', () => {\n${longFunction}})`],
  [functionSize, 'a test block outside of a test', 'src/wallet/long.ts', longTest],
  [stdout, 'console', 'src/mcp/frame.ts', `console.error('x')`],
  [stdout, 'console passed on', 'src/wallet/log.ts', `export const log = { console }`],
  [stdout, 'process.stdout', 'src/mcp/frame.ts', `process.stdout.write('x')`],
  [stdout, 'taken apart', 'src/agent/frame.ts', `const { stdout } = process`],
  [stdout, 'imported', 'tools/chat.ts', `import { stdout } from 'node:process'`],
  [stdout, 'through the global object', 'src/client/frame.ts', `globalThis.process.stdout.write('x')`],
  [stdout, 'by its number', 'src/toolkit/frame.ts', `import fs from 'node:fs'\nfs.writeSync(1, 'x')`],
  [stdout, 'a second transport', 'src/mcp/frame.ts', `import { Stdio } from '@modelcontextprotocol/server/stdio'`],
  [stdout, 'a command past its output', 'src/cli/commands/up.ts', `process.stdout.write('x')`],
  [names, 'camel case', 'src/wallet/paymentJournal.ts', ''],
  [names, 'a drawer', 'src/wallet/utils.ts', ''],
  [names, 'a drawer with a word before it', 'src/wallet/key-manager.ts', ''],
  [names, 'a folder of types', 'src/wallet/types/key.ts', ''],
  [words, 'a file', 'src/service/models/picture-model.ts', ''],
  [words, 'a folder', 'src/ledger/books/store.ts', ''],
  [words, 'an exported name', 'src/wallet/a.ts', 'export const openBooks = () => 1'],
  [words, 'a sentence', 'tools/chat.ts', "export const title = 'Ask whoever runs it'"],
  [words, 'a part of a template', 'src/cli/a.ts', 'const text = `this is none of ours`'],
]

test.each(violations)('%s: reports %s', (rule, _what, path, text, ...others) => {
  const files = [[path, text] as const, ...others].map(([path, text]) => parseFile({ path, text }))
  expect(broken(files)).toEqual([rule])
})

const allowed: [what: string, path: string, text: string, ...others: [path: string, text: string][]][] = [
  ['an arrow', 'src/agent/index.ts', `import { sign } from '#wallet/sign.ts'`],
  ['an arrow between parts', 'src/payments/top-ups/a.ts', `import { b } from '../rails/rails.ts'`],
  ['the bounds beside the parts', 'src/payments/evm/a.ts', `import { b } from '../bounds.ts'`],
  ['zod in the contract', 'src/contract/operations/chat.ts', `import { z } from 'zod'`],
  ['a room in a command', 'src/cli/commands/serve.ts', `import { serve } from '#service/index.ts'`],
  ['a room loaded by the frame when needed', 'src/cli/main.ts', `const load = () => import('./commands/up.ts')`],
  ['a room in what a command alone loads', 'src/cli/call/a.ts', `import { run } from '#toolkit/run-tool.ts'`],
  ['a folder and what puts it together', 'src/agent/calls/a.ts', `import { core } from '../core.ts'`],
  ['eight files beside folders', 'src/host/media/a.ts', '', ...beside(8)],
  ['400 lines', 'src/wallet/long.ts', lines(400)],
  ['a generated file', 'src/mcp/listing.generated.ts', longFunction + lines(400)],
  ['a long test block', 'test/wallet/long.test.ts', longTest.replace('test(', 'test.each([1])(')],
  ['a long suite for several stores', 'test/service/suite.ts', `export function suite() {\n${longTest}}\n`],
  ['70 lines', 'src/wallet/long.ts', longFunction.replace('x\n', '')],
  ['the transport', 'src/mcp/stdio.ts', `process.stdout.write('x')`],
  ['the stdout of a child', 'src/local/evm/anvil.ts', 'child.stdout.resume()'],
  ['a property called console', 'src/service/paths.ts', `const at = { console: paths.console }`],
  ['a banned word within another', 'src/wallet/table.ts', `export const outermost = 'a table of soundness'`],
  ['a banned word that is a key', 'src/wallet/a.ts', `const kinds = { sound: 'sound' }`],
  ['a word that begins like a drawer', 'src/contract/mime-types.ts', ''],
]

test.each(allowed)('lets %s pass', (_what, path, text, ...others) => {
  const files = [[path, text] as const, ...others].map(([path, text]) => parseFile({ path, text }))
  expect(broken(files)).toEqual([])
})

function broken(files: Parameters<NonNullable<(typeof rules)[string]>>[0]): string[] {
  return Object.entries(rules).flatMap(([sentence, rule]) => (rule(files).length > 0 ? [sentence] : []))
}
