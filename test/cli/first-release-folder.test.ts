/** A data folder as the first release left it, through the commands and the service of today. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { openService } from '#service/running/open-service.ts'
import { firstKey, firstSecret } from '../ledger/store/first-release/first-ledger.ts'
import { tamperWith } from '../ledger/store/sqlite-folder.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

// Each command opens the ledger anew, with a thread of its own.
vi.setConfig({ testTimeout: 60_000 })

const dump = join(import.meta.dirname, '..', 'ledger', 'store', 'first-release', 'first-release.sql')

let root: string
let old: string
beforeEach(async () => {
  root = temporaryFolder('first-release')
  old = join(root, 'old')
  const folder = dataFolder(old)
  await mkdir(join(old, 'service'), { recursive: true })
  await writeFile(folder.secret, `${firstSecret}\n`, { mode: 0o600 })
  tamperWith(folder.database, await readFile(dump, 'utf8'))
})

/** The status that the key of then gets at a service on this folder, whose tables are brought up to date by its start. */
async function keyStatusAt(path: string): Promise<number> {
  const secrets = await folderSecrets(dataFolder(path))
  const options = { publicUrl: 'http://127.0.0.1:8402', folder: join(path, 'service'), secrets, models: [] }
  const service = await openService(options)
  try {
    const headers = { authorization: `Bearer ${firstKey}` }
    const asked = new Request('http://127.0.0.1:8402/api/v1/api_keys/rate_limits', { headers })
    return (await service.fetch(asked)).status
  } finally {
    await service.close()
  }
}

const run = (...args: string[]) => runCommand([...args, '--data', old])

/** What another release may have done to the tables. */
const asAnotherRelease = () =>
  tamperWith(dataFolder(old).database, 'DROP VIEW entry; CREATE VIEW entry AS SELECT seq FROM entry_row')

test('what only reads leaves the tables of another release to that release, and says so', async () => {
  asAnotherRelease()
  for (const args of [['audit'], ['export']]) {
    const { code, stderr } = await run('ledger', ...args)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^The tables belong to another release\. Start the /)])
  }
})

test('a service of today opens it: its keys work, its ledger adds up, and its keys are told apart', async () => {
  expect(await keyStatusAt(old)).toBe(200)
  expect(await run('ledger', 'audit')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/The ledger adds up\.\n$/),
  })
  expect((await run('keys', 'list')).stdout).toMatch(/ {2}customer:ada {2}.+"laptop"\n/)
})

test('a backup is restored as it was', async () => {
  const file = join(root, 'before.db')
  expect(await run('backup', file, '--with-secret')).toMatchObject({ code: 0 })
  const target = join(root, 'new')
  expect((await runCommand(['restore', file, '--data', target])).code).toBe(0)
  expect(await keyStatusAt(target)).toBe(200)
  expect((await runCommand(['ledger', 'audit', '--data', target])).code).toBe(0)
})

test('a backup of the tables of another release is made, and says that it was not audited', async () => {
  asAnotherRelease()
  expect(await run('backup', join(root, 'other.db'), '--with-secret')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('The ledger belongs to another release, so it was not audited.'),
  })
})
