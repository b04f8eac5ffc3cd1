import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { beforeEach, expect, test } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { audit } from '#ledger/audit/audit.ts'
import { openStore } from '#ledger/store/open-store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7Floor } from '#ledger/store/uuid-v7.ts'
import { launcher } from '../build/built-product.ts'
import { account, capture, grant, hold, lease, mustCommit } from '../ledger/store/sample-ops.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'
import { served } from './served-folder.ts'

let root: string
beforeEach(async () => {
  root = temporaryFolder('compact')
  await folderSecrets(dataFolder(root))
})

/** The middle of the month that was so many months ago. */
function monthsAgo(months: number): number {
  const now = new Date()
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 15)
}
const monthOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 7)

const [older, old, young] = [monthsAgo(15), monthsAgo(14), monthsAgo(1)]
const at = (atMs: number, op: Op): Op => ({ ...op, atMs }) as Op

let calls = 0
function call(atMs: number, of: string): Unit {
  const id = uuidV7Floor(atMs).replace(/0{12}$/, (++calls).toString(16).padStart(12, '0'))
  return { id: `${id}/call`, ops: [at(atMs, hold(id, 9n, of, lease())), at(atMs, capture(id, [4n, 2n]))] }
}

/** So many calls of two customers in each of two old months, and one that is younger. */
async function write(database: string, callsOfMonth: number): Promise<void> {
  const store = await openStore(database)
  const people = ['ada', 'bob'].flatMap(id => [account(id), grant(10_000_000n, `grant ${id}`, id)])
  await mustCommit(store, ...people.map(op => at(older, op)))
  for (const month of [older, old])
    for (let made = 0; made < callsOfMonth; made += 500) {
      const units = Array.from({ length: Math.min(500, callsOfMonth - made) }, (_, index) =>
        call(month + made + index, index % 2 ? 'ada' : 'bob'),
      )
      const outcomes = await store.commit(units)
      expect(outcomes.filter(({ ok }) => !ok)).toEqual([])
    }
  await store.commit([call(young, 'ada')])
  await store.close()
}

const database = () => `sqlite:${dataFolder(root).database}`
const compact = (...args: string[]) => runCommand(['ledger', 'compact', '--data', root, ...args])

/** The lines of all archive files, without their headers. */
async function archivedLines(folder: string): Promise<string[]> {
  const lines: string[] = []
  for (const file of await readdir(folder)) {
    expect(file).toMatch(/^entries-\d{4}-\d\d(\.\d+)?\.csv\.gz$/)
    const text = gunzipSync(await readFile(join(folder, file))).toString()
    lines.push(...text.split('\r\n').slice(1, -1))
  }
  return lines
}

test('old months become sums, and their rows are in the archive files as an export had them', async () => {
  await write(database(), 20)
  const exported = (await runCommand(['ledger', 'export', '--data', root])).stdout
  const plan = await compact('--dry-run')
  expect([plan.code, plan.stdout.split('\n')]).toEqual([
    0,
    [
      `${monthOf(older)}: 40 rows of 2 accounts become 4 sums`,
      `${monthOf(old)}: 40 rows of 2 accounts become 4 sums`,
      'Nothing was changed.',
      '',
    ],
  ])
  expect((await runCommand(['ledger', 'export', '--data', root])).stdout).toBe(exported)
  const before = await audit(dataFolder(root).database)
  const done = await compact('--json')
  expect(done.code).toBe(0)
  const archive = join(root, 'service', 'archive')
  expect(JSON.parse(done.stdout)).toMatchObject({
    ...{ dryRun: false, entriesBefore: 84, entriesAfter: 12 },
    months: [
      { month: monthOf(older), accounts: 2, entries: 40, sums: 4, archive: expect.stringContaining(archive) },
      { month: monthOf(old), accounts: 2, entries: 40, sums: 4, archive: expect.stringContaining(archive) },
    ],
  })
  const after = await audit(dataFolder(root).database)
  expect(after).toMatchObject({ ok: true, systemMicroUsd: before.systemMicroUsd })
  const archived = new Set(await archivedLines(archive))
  const oldLines = exported
    .split('\r\n')
    .filter(line => line.includes(`,${monthOf(older)}-`) || line.includes(`,${monthOf(old)}-`))
  expect(oldLines.length).toBe(82)
  expect(oldLines.filter(line => !archived.has(line))).toEqual([])
  expect((await compact()).stdout).toMatch(/^There is nothing to compact before \d{4}-\d\d-01\.$/m)
  expect(await readdir(archive)).toHaveLength(2)
})

test.each([
  ['a call that still runs', 'INSERT', /hold .* began before .* nothing was compacted/],
  ['a ledger that does not add up', 'UPDATE', /does not add up, so nothing was compacted/],
])('%s keeps everything as it is', async (_, how, says) => {
  await write(database(), 20)
  const store = await openStore(database())
  if (how === 'INSERT') await mustCommit(store, at(older, hold('open', 1n)))
  await store.close()
  if (how === 'UPDATE') {
    const { DatabaseSync } = await import('node:sqlite')
    const tampered = new DatabaseSync(dataFolder(root).database)
    tampered.exec(`UPDATE account SET posted = posted + 1 WHERE id = 'ada'`)
    tampered.close()
  }
  const { code, stderr } = await compact()
  expect(code).toBe(1)
  expect(stderr).toMatch(says)
  expect((await audit(dataFolder(root).database)).counts.entries).toBe(84)
})

test('a service that runs on the folder has to be stopped first', async () => {
  await write(database(), 20)
  await served(root, async () => {
    const { code, stderr } = await compact()
    expect([code, stderr]).toEqual([1, expect.stringMatching(/already serves the folder/)])
    expect((await compact('--dry-run')).stdout).toMatch(/become 4 sums/)
  })
})

test.each([
  ['--keep-months', '1'],
  ['--keep-months', 'all'],
])('%s %s is wrong usage', async (...args) => {
  expect((await compact(...args)).code).toBe(2)
})

/** Returns the signal that ended it; null where it came too late. */
async function compactUntilKilled(afterMs: number): Promise<NodeJS.Signals | null> {
  const killed = spawn(process.execPath, [launcher, 'ledger', 'compact', '--data', root], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(killed, 'close')
  for await (const text of killed.stderr)
    if (`${text}`.includes('Compacting entries.')) setTimeout(() => killed.kill('SIGKILL'), afterMs)
  const [code] = await ended
  expect(code ?? 0).toBe(0)
  return killed.signalCode
}

test('what a service writes while it is ending is no difference', async () => {
  await write(database(), 20)
  const ending = await openStore(database())
  const compacted = compact()
  // Long enough for an audit of this ledger.
  await sleep(1_500)
  await mustCommit(ending, grant(5n))
  await ending.close()
  expect(await compacted).toMatchObject({ code: 0, stdout: expect.stringContaining('instead of') })
})

test('a command that is killed in the middle loses nothing, and the next one continues', {
  timeout: 240_000,
}, async () => {
  await write(database(), 12_000)
  const before = await audit(dataFolder(root).database)
  const exported = (await runCommand(['ledger', 'export', '--data', root])).stdout
  const copy = join(root, 'copy')
  await cp(join(root, 'service'), copy, { recursive: true })
  // On a busy machine a kill may come when the command has ended: then it is done again, and killed sooner.
  for (let afterMs = 150; (await compactUntilKilled(afterMs)) !== 'SIGKILL'; afterMs /= 2) {
    await rm(join(root, 'service'), { recursive: true })
    await cp(copy, join(root, 'service'), { recursive: true })
  }
  const between = await audit(dataFolder(root).database)
  expect(between).toMatchObject({ ok: true, systemMicroUsd: before.systemMicroUsd })
  expect((await compact()).code).toBe(0)
  const after = await audit(dataFolder(root).database)
  expect(after).toMatchObject({ ok: true, systemMicroUsd: before.systemMicroUsd })
  expect(after.counts.entries).toBeLessThan(100)
  const archived = new Set(await archivedLines(join(root, 'service', 'archive')))
  const lost = exported
    .split('\r\n')
    .filter(line => line.includes(',CHARGE,') && !line.includes(monthOf(young)) && !archived.has(line))
  expect(lost).toEqual([])
})

withPostgres('on PostgreSQL', cluster => {
  test('old months become sums beside a service', async () => {
    const { url } = cluster()
    await write(url, 20)
    const service = await openStore(url)
    const { code, stdout, stderr } = await runCommand(['ledger', 'compact', '--data', root, '--json'], {
      DATABASE_URL: url,
    })
    expect([code, JSON.parse(stdout), stderr]).toMatchObject([
      0,
      { entriesBefore: 84, entriesAfter: 12 },
      expect.any(String),
    ])
    await service.close()
  })
})
