import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { openService } from '#service/running/open-service.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

let root: string
beforeEach(async () => {
  root = temporaryFolder('reopen')
  await folderSecrets(dataFolder(root))
})

const run = (...args: string[]) => runCommand([...args, '--data', root])

function tamper(sql: string): void {
  const database = new DatabaseSync(dataFolder(root).database)
  database.exec(sql)
  database.close()
}

/** What readiness says of a service that starts on the folder. */
async function readiness(): Promise<number> {
  const service = await openService({
    publicUrl: 'http://127.0.0.1:8402',
    folder: join(root, 'service'),
    secrets: await folderSecrets(dataFolder(root)),
    models: [],
  })
  try {
    return (await service.fetch(new Request('http://127.0.0.1:8402/readyz'))).status
  } finally {
    await service.close()
  }
}

test('a closed ledger opens again once an audit finds nothing, and not before', async () => {
  await run('keys', 'create', '--usd', '5')
  tamper('UPDATE account SET posted = posted + 1')
  expect(await readiness()).toBe(503)
  const refused = await run('ledger', 'reopen')
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('was not changed')])
  tamper('UPDATE account SET posted = posted - 1')
  expect(await readiness()).toBe(503)
  expect(await run('ledger', 'reopen')).toEqual({ code: 0, stdout: 'The ledger adds up and is open.\n', stderr: '' })
  expect(await readiness()).toBe(200)
})

test('without a service, nothing is opened', async () => {
  await rm(dataFolder(root).secret)
  expect(await run('ledger', 'reopen')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no service'),
  })
})
