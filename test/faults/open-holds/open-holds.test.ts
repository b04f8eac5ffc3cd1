import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { postgresLedger, sqliteLedger } from '../test-ledgers.ts'
import { startOnOpenHolds } from './open-holds-run.ts'

const holds = 600

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-holds-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const ended = 'a start ends every hold that a kill left, and charges what they had written down'

test(ended, { timeout: 300_000 }, async () => {
  const folder = await temporary()
  const path = join(folder, 'farebox.db')
  const report = await startOnOpenHolds(holds, folder, `sqlite:${path}`, sqliteLedger(path))
  expect(report).toMatchObject({ left: holds, status: 200, failures: [] })
})

withPostgres('on PostgreSQL', cluster => {
  test(ended, { timeout: 300_000 }, async () => {
    const { url } = cluster()
    const report = await startOnOpenHolds(holds, await temporary(), url, postgresLedger(url))
    expect(report).toMatchObject({ left: holds, status: 200, failures: [] })
  })
})
