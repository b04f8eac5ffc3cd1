import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { dataFolder, defaultDataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

// Each command opens the ledger anew, with a thread of its own.
vi.setConfig({ testTimeout: 60_000 })

const folder = join(import.meta.dirname, '..', '..', 'docs', 'operations')
const pages = await Promise.all(['backup.md', 'monitor.md', 'run.md'].map(name => readFile(join(folder, name), 'utf8')))
const commands = pages
  .flatMap(page => [...page.matchAll(/```sh\n([^`]+)```/g)])
  .flatMap(([, block = '']) => block.trim().split('\n'))
  .map(line => line.trim())

const here = process.cwd()
let root: string
beforeEach(async () => {
  root = temporaryFolder('operations')
  process.chdir(root)
  await folderSecrets(dataFolder(defaultDataFolder))
})
afterEach(() => {
  process.chdir(here)
})

test('every command of the pages on backup, monitoring and running does what they say, in their order', async () => {
  const made = await runCommand(['keys', 'create', '--usd', '5', '--label', 'laptop', '--json'])
  const { account, keyId } = JSON.parse(made.stdout) as { account: string; keyId: string }
  const told: Record<string, string> = {}
  for (const line of commands) {
    const [program, ...args] = wordsOf(line.replace(/ > .*$/, ''))
    expect(program).toBe('farebox')
    if (args[1] === 'drop-secrets') await replaceKeys()
    const end = await runCommand(args.map(arg => (arg === 'ACCOUNT' ? account : arg === 'ID' ? keyId : arg)))
    expect([line, end.code], end.stderr).toEqual([line, 0])
    told[args.slice(0, 2).join(' ')] = end.stdout
  }
  expect(Object.keys(told)).toEqual([
    ...[
      'backup ledger.db',
      'restore ledger.db',
      'ledger audit',
      'ledger reopen',
      'ledger balance',
      'ledger export',
      'ledger compact',
    ],
    ...['customers create', 'customers credit', 'keys create', 'customers show'],
    ...['keys list', 'keys revoke', 'keys rotate-secret', 'keys drop-secrets'],
  ])
  expect(told['ledger audit']).toMatch(/The ledger adds up\.\nEvery credit has its transfer\.\n$/)
  expect(told['keys list']).toContain('"laptop"')
  expect(told['keys list']).not.toContain(JSON.parse(made.stdout).key)
})

/** As a shell reads them. */
const wordsOf = (line: string): string[] => [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)

/** What the page asks for between a new secret and the end of the former one. */
async function replaceKeys(): Promise<void> {
  const listed = JSON.parse((await runCommand(['keys', 'list', '--json'])).stdout) as { id: string; needs: string }[]
  expect(listed.some(({ needs }) => needs === 'former')).toBe(true)
  for (const { id, needs } of listed) if (needs === 'former') await runCommand(['keys', 'revoke', id])
}

test('every column of an export is in docs/operations/run.md, and no other', async () => {
  await runCommand(['keys', 'create', '--usd', '5'])
  const { stdout } = await runCommand(['ledger', 'export'])
  const table = /\| Column \| Meaning \|\n[^\n]+\n((?:\|.+\n)+)/.exec(pages.join('\n'))?.[1] ?? ''
  const described = table
    .split('\n')
    .flatMap(row => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(match => match[1]))
  expect(described.sort()).toEqual(stdout.split('\r\n')[0]?.split(',').sort())
})
