import { copyFile, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let root: string
let database: string
let whole: string
let bytes: number
beforeAll(async () => {
  root = temporaryFolder('damaged')
  const folder = dataFolder(join(root, 'data'))
  database = folder.database
  whole = join(root, 'whole.db')
  await folderSecrets(folder)
  for (let key = 0; key < 3; key++)
    expect((await runCommand(['keys', 'create', '--usd', '5', '--data', folder.root])).code).toBe(0)
  await copyFile(database, whole)
  bytes = (await stat(whole)).size
})

const cuts: [string, (bytes: number) => number][] = [
  ['within its header', () => 50],
  ['after its first page', () => 4096],
  ['in its middle', size => size / 2],
  ['before its last page', size => size - 4096],
]

const commands: [string, (data: string) => string[]][] = [
  ['keys create', data => ['keys', 'create', '--usd', '1', '--data', data]],
  ['keys list', data => ['keys', 'list', '--data', data]],
  ['ledger audit', data => ['ledger', 'audit', '--data', data]],
  ['ledger balance', data => ['ledger', 'balance', '--data', data]],
]

describe.each(cuts)('of a ledger that was cut off %s', (_where, lengthOf) => {
  test.each(commands)('`%s` says in a sentence that it is damaged, and how it comes back', async (_name, argsOf) => {
    await copyFile(whole, database)
    await truncate(database, lengthOf(bytes))
    const { code, stdout, stderr } = await runCommand(argsOf(join(root, 'data')))
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('damaged')
    expect(stderr).toContain('farebox restore')
    expect(stderr).not.toContain('unforeseen')
  })
})

test.each([
  ['empty', () => truncate(database, 0), 'is empty'],
  ['gone', () => rm(database), 'is missing'],
])('a ledger whose file is %s is not begun again: its customers had credit', async (_how, damage, says) => {
  await copyFile(whole, database)
  await damage()
  await expect(openSqliteStore({ path: database })).rejects.toMatchObject({
    kind: 'damaged_database',
    message: expect.stringContaining(says),
  })
  const { code, stderr } = await runCommand(['keys', 'create', '--usd', '1', '--data', join(root, 'data')])
  expect([code, stderr]).toEqual([1, expect.stringContaining('farebox restore')])
})

test('a ledger that was put back is served again', async () => {
  await copyFile(whole, database)
  const { code, stdout } = await runCommand(['keys', 'list', '--json', '--data', join(root, 'data')])
  expect([code, JSON.parse(stdout).length]).toEqual([0, 3])
})
