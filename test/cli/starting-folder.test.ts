import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, test, vi } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { folderFailure } from '#cli/data/service-admin.ts'
import { loadConfig } from '#cli/serve/config.ts'
import { startServing } from '#cli/serve/start-serving.ts'
import type { Log } from '#host/log.ts'
import { lockFolderOf } from '#ledger/store/sqlite/connection.ts'
import { StoreError } from '#ledger/store/store.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const config = `publicUrl: http://127.0.0.1:8402
listen: 127.0.0.1:0
models:
  - id: one
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [{ engine: demo }]
`
const log = { info() {}, warn() {}, error() {} }

let root: string
let path: string
let data: string
beforeEach(async () => {
  root = temporaryFolder('starting')
  path = join(root, 'farebox.yaml')
  data = join(root, '.farebox')
  await writeFile(path, config)
  await folderSecrets(dataFolder(data))
})

const serve = async (given: Log = log) =>
  startServing({ version: '', path, config: await loadConfig(path, {}), env: {}, log: given, hide() {} })
const createKey = () => runCommand(['keys', 'create', '--usd', '1', '--data', data])

/** What another process does: it has the folder for so long. */
function hold(forMs: number): void {
  const lock = lockFolderOf(dataFolder(data).database)
  setTimeout(() => lock.release(), forMs)
}

test('a service that starts waits for a command that has its folder', async () => {
  const lock = lockFolderOf(dataFolder(data).database)
  const warned: { fields: object; message: string }[] = []
  const warn: Log['warn'] = (fields, message) => {
    warned.push({ fields, message })
    // After it has looked at the folder a few times more.
    setTimeout(() => lock.release(), 300)
  }
  const serving = await serve({ ...log, warn })
  await serving.close()
  // One line, which says what it waits for.
  expect(warned).toEqual([
    { fields: { folder: dataFolder(data).root }, message: expect.stringMatching(/uses the data folder; waiting/) },
  ])
})

test('a command waits for a service that is starting or ending', async () => {
  hold(500)
  expect((await createKey()).code).toBe(0)
})

test('a service does not wait for another one that runs there', async () => {
  const serving = await serve()
  try {
    await expect(serve()).rejects.toThrow(/already serves the folder/)
  } finally {
    await serving.close()
  }
})

test('starts and keys side by side all come to their end', async () => {
  let isOver = false
  const keys = (async () => {
    const ends = []
    while (!isOver) {
      ends.push(await createKey())
      await sleep(1)
    }
    return ends
  })()
  for (let start = 0; start < 10; start++) await (await serve()).close()
  isOver = true
  const ends = await keys
  expect(ends.filter(({ code }) => code !== 0).map(({ stderr }) => stderr)).toEqual([])
  expect(ends.length).toBeGreaterThan(0)
})

test('a start on a disk without space says so, not what a lost commit means', async () => {
  const full = new StoreError('outcome_unknown', 'The store lost its writer.', { cause: 'database or disk is full' })
  expect(await folderFailure(full, dataFolder('/nowhere'))).toMatchObject({
    message: 'The ledger cannot be written (database or disk is full).',
    nextStep: expect.stringContaining('Free some space'),
  })
})
