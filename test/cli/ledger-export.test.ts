import { join } from 'node:path'
import { Writable } from 'node:stream'
import { beforeEach, expect, test } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { createOutput } from '#cli/output.ts'
import { openStore } from '#ledger/store/open-store.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import { account, grant, mustCommit, nowMs } from '../ledger/store/sample-ops.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

let root: string
beforeEach(async () => {
  root = temporaryFolder('export')
  await folderSecrets(dataFolder(root))
})

const later = { ...(grant(3n, 'later', 'bob') as { atMs: number }), atMs: nowMs + 1_000 } as ReturnType<typeof grant>
const fill = (store: Store) =>
  mustCommit(store, account(), account('bob'), grant(1n, 'a'), grant(2n, 'b', 'bob'), later)

const refsOf = (csv: string) =>
  csv
    .split('\r\n')
    .slice(1, -1)
    .map(line => line.split(',')[8])

/** What is asked, and the refs of the rows that come. */
const rows: [args: string[], refs: string[]][] = [
  [[], ['a', 'b', 'later']],
  [
    ['--account', 'bob'],
    ['b', 'later'],
  ],
  [['--from', '2027-01-15T08:00:01Z'], ['later']],
  [
    ['--to', '2027-01-15T08:00:01Z'],
    ['a', 'b'],
  ],
  [
    ['--from', '2027-01-15', '--to', '2027-01-16'],
    ['a', 'b', 'later'],
  ],
  [['--from', '2027-01-16'], []],
  [['--account', 'bob', '--to', '2027-01-15T08:00:00.001Z'], ['b']],
]

test('an export beside a service that runs has the rows that were asked for', async () => {
  const store = await openSqliteStore({ path: dataFolder(root).database })
  await fill(store)
  for (const [args, refs] of rows) {
    const { code, stdout, stderr } = await runCommand(['ledger', 'export', ...args, '--data', root])
    expect([code, stderr, refsOf(stdout)], JSON.stringify(args)).toEqual([0, '', refs])
  }
  await store.close()
})

withPostgres('on PostgreSQL', cluster => {
  test('an export has the same rows', async () => {
    const url = cluster().url
    const store = await openStore(url)
    await fill(store)
    await store.close()
    for (const [args, refs] of rows) {
      const { code, stdout, stderr } = await runCommand(['ledger', 'export', ...args], { DATABASE_URL: url })
      expect([code, stderr, refsOf(stdout)], JSON.stringify(args)).toEqual([0, '', refs])
    }
  })
})

test.each([
  [['--from', '2026-02-30'], '`--from` is `2026-02-30`; use a day'],
  [['--from', 'yesterday'], '`--from` is `yesterday`; use a day'],
  [['--from', '2026-11-02', '--to', '2026-11-01'], '`--from` must be before `--to`'],
  [['--from', '2026-11-01', '--to', '2026-11-01'], '`--from` must be before `--to`'],
  [['--to', '2026-01-01T00:00:00+01:00'], '`--to` is `2026-01-01T00:00:00+01:00`; use a day'],
])('%j is wrong usage', async (args, sentence) => {
  const { code, stderr } = await runCommand(['ledger', 'export', ...args])
  expect([code, stderr.startsWith(sentence)]).toEqual([2, true])
})

test('a folder without a service is reported', async () => {
  const { code, stdout, stderr } = await runCommand(['ledger', 'export', '--data', join(root, 'none')])
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/^There is no service in /)])
})

test('what is streamed waits for a reader that is slow', async () => {
  let pulled = 0
  let taken = 0
  const slow = new Writable({
    highWaterMark: 10,
    write(chunk: Buffer, _encoding, done) {
      taken += chunk.length
      // Never more than the piece that is being taken and the one that waits.
      expect(pulled - taken).toBeLessThanOrEqual(20)
      setImmediate(done)
    },
  })
  async function* pieces() {
    for (let piece = 0; piece < 100; piece++) {
      pulled += 10
      yield '0123456789'
    }
  }
  await createOutput(slow, slow).stream(pieces())
  slow.end()
  expect(taken).toBe(1_000)
})
