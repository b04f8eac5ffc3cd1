import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { batchCharacters, batchUnits, queuedUnits } from '#ledger/bounds.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { migrateSqlite } from '#ledger/store/sqlite/open.ts'
import { SqliteWriter } from '#ledger/store/sqlite/writer.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { account, claim, nonce, unit } from './sample-ops.ts'
import { tamperWith, temporaryFolder } from './sqlite-folder.ts'

const countingThread = new URL('./counting-thread.ts', import.meta.url)
const dyingThread = new URL('./dying-thread.ts', import.meta.url)

let place: ReturnType<typeof temporaryFolder>
beforeEach(async () => {
  place = temporaryFolder()
  const database = openForWriting(place.path)
  await migrateSqlite(database, place.path)
  database.close()
})
afterEach(() => place.remove())

const start = (url = new URL('../../../src/ledger/store/sqlite/sqlite-writer-thread.ts', import.meta.url)) =>
  SqliteWriter.start({ path: place.path }, url)

test('a unit that breaks the database fails alone', async () => {
  tamperWith(
    place.path,
    `CREATE TRIGGER broken BEFORE INSERT ON nonce WHEN NEW.id = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'broken'); END`,
  )
  const writer = await start()
  const good = Array.from({ length: 20 }, (_, index) => writer.commit([unit(account(`a${index}`))]))
  const bad = writer.commit([unit(account('bad'), nonce('bad'))])
  const later = Array.from({ length: 20 }, (_, index) => writer.commit([unit(account(`b${index}`))]))
  await expect(bad).rejects.toMatchObject({ name: 'StoreError', kind: 'unit_failed' })
  const outcomes = (await Promise.all([...good, ...later])).flat()
  expect(outcomes).toEqual(Array.from({ length: 40 }, () => ({ ok: true, again: false, balances: [] })))
  await writer.close()
  const database = new DatabaseSync(place.path)
  expect(database.prepare('SELECT count(*) AS n FROM account').get()).toEqual({ n: 40 })
  database.close()
})

test('a unit that cannot travel to the thread fails alone', async () => {
  const writer = await start()
  const odd: Unit = { ...unit(), ops: [{ ...nonce('n'), key: (() => 'n') as unknown as string } as Op] }
  const [bad, good] = [writer.commit([odd]), writer.commit([unit(nonce('n'))])]
  await expect(bad).rejects.toMatchObject({ kind: 'unit_failed' })
  expect(await good).toMatchObject([{ ok: true }])
  await writer.close()
})

test('a queue above its bound is refused at once, and what waits is still written', async () => {
  const writer = await start()
  const waiting = writer.commit(Array.from({ length: queuedUnits }, (_, index) => unit(nonce(`n${index}`))))
  await expect(writer.commit([unit(nonce('one more'))])).rejects.toMatchObject({ kind: 'queue_full' })
  expect((await waiting).every(outcome => outcome.ok)).toBe(true)
  expect(await writer.commit([unit(nonce('one more'))])).toMatchObject([{ ok: true }])
  await writer.close()
})

test('a commit takes so many units, and so many characters of them, or one that has more', async () => {
  const writer = await start(countingThread)
  const small = Array.from({ length: batchUnits + 1 }, (_, index) => unit(nonce(`n${index}`)))
  const withText = (characters: number) => unit(claim('c', null, 'done', 0, { answer: 'x'.repeat(characters) }))
  const half = batchCharacters / 2 - 100
  const large = [half, half, half, batchCharacters + 1, 1].map(withText)
  const [counts] = await Promise.all([
    writer.commit([...small, ...large]),
    writer.commit([{ id: 'odd', ops: [oddJob] }]),
  ])
  const sizes = counts.map(outcome => (outcome.ok ? 0 : outcome.op))
  expect([sizes[0], sizes.slice(batchUnits)]).toEqual([batchUnits, [3, 3, 3, 1, 1, 2]])
  await writer.close()
})

/** As no caller of ours writes one. */
const oddJob = { op: 'job' } as unknown as Op

test('a thread that dies leaves what was in flight unknown, and takes nothing more', async () => {
  const writer = await start(dyingThread)
  const inFlight = writer.commit([unit(nonce('a'))])
  await expect(inFlight).rejects.toMatchObject({ kind: 'outcome_unknown' })
  await expect(writer.commit([unit(nonce('b'))])).rejects.toMatchObject({ kind: 'writer_dead' })
  await expect(writer.prune({ table: 'unit', beforeId: '0' }, 1)).rejects.toMatchObject({ kind: 'writer_dead' })
  await writer.close()
})

test('a thread that dies while the store closes does not hold it open', async () => {
  const writer = await start(dyingThread)
  const inFlight = writer.commit([unit(nonce('a'))])
  const closed = writer.close()
  await expect(inFlight).rejects.toMatchObject({ kind: 'outcome_unknown' })
  await closed
})

test.each([
  ['ends at once', 'process.exit(0)'],
  ['fails', 'throw new Error("no disk")'],
])('a thread that %s before it is ready is an error, never a wait', async (_how, code) => {
  await expect(start(new URL(`data:text/javascript,${encodeURIComponent(code)}`))).rejects.toThrow(
    /writer has ended|no disk/,
  )
})

test('no units have no outcomes', async () => {
  const writer = await start()
  expect(await writer.commit([])).toEqual([])
  await writer.close()
})
