import { copyFileSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { expect, test } from 'vitest'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { migrateSqlite, openSqliteReader, openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { hasMode } from '../../has-mode.ts'
import { account, grant, job, mustCommit } from './sample-ops.ts'
import { tamperWith, temporaryFolder } from './sqlite-folder.ts'

test('a writing connection is durable: WAL with full syncs, and foreign keys', () => {
  const { path, remove } = temporaryFolder()
  const database = openForWriting(path)
  const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  expect([pragma('journal_mode'), pragma('synchronous'), pragma('foreign_keys')]).toEqual(['wal', 2, 1])
  database.close()
  remove()
})

test('the folder is made where it is missing, and its files are for their owner alone', async () => {
  const { folder, remove } = temporaryFolder()
  const path = join(folder, 'deeper', 'data', 'farebox.db')
  const store = await openSqliteStore({ path })
  await mustCommit(store, account())
  const names = [path, `${path}-wal`, join(dirname(path), 'lock.db')]
  expect([hasMode(dirname(path), 0o700), ...names.map(name => hasMode(name, 0o600))]).toEqual([true, true, true, true])
  await store.close()
  remove()
})

test('a file that is copied after a clean close is whole, without the log beside it', async () => {
  const { folder, path, remove } = temporaryFolder()
  const store = await openSqliteStore({ path })
  await mustCommit(store, account('ada'))
  expect(await store.read.selectFrom('account').select('id').execute()).toHaveLength(1)
  await store.close()
  const copy = join(folder, 'copy.db')
  copyFileSync(path, copy)
  const read = openSqliteReader(copy)
  expect(await read.selectFrom('account').select('id').execute()).toEqual([{ id: 'ada' }])
  await read.destroy()
  remove()
})

test('what a job was asked leaves the file with the job’s end, and not only its table', async () => {
  const { path, remove } = temporaryFolder()
  const store = await openSqliteStore({ path })
  const image = 'an image of Ada Lovelace '.repeat(10_000)
  await mustCommit(store, account(), job('j', null, 'queued', 0, { input: image }))
  expect(readFileSync(`${path}-wal`).includes('Lovelace')).toBe(true)
  await mustCommit(store, job('j', 'queued', 'failed', 1, { input: null }))
  await store.close()
  expect(readFileSync(path).includes('Lovelace')).toBe(false)
  remove()
})

test('a migration that fails is undone whole', async () => {
  const { path, remove } = temporaryFolder()
  const database = openForWriting(path)
  const half: Migration = {
    async up(kysely: Kysely<unknown>) {
      await sql.raw('CREATE TABLE half (id TEXT)').execute(kysely)
      await sql.raw('CREATE TABLE half (id TEXT)').execute(kysely)
    },
  }
  await expect(migrateSqlite(database, path, { half })).rejects.toMatchObject({
    kind: 'unusable_database',
    message: expect.stringContaining('half'),
  })
  const left = database.prepare(`SELECT name FROM sqlite_schema WHERE name = 'half'`).all()
  expect(left).toEqual([])
  database.close()
  remove()
})

test('a disk without space for the first tables is not taken for a database of another release', async () => {
  const { path, remove } = temporaryFolder()
  const database = openForWriting(path)
  database.exec('PRAGMA max_page_count = 1')
  await expect(migrateSqlite(database, path)).rejects.toThrow(/full/)
  database.close()
  remove()
})

test('a database of another release is refused in words', async () => {
  const { path, remove } = temporaryFolder()
  await (await openSqliteStore({ path })).close()
  tamperWith(path, `INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-from-the-future', '2030')`)
  await expect(openSqliteStore({ path })).rejects.toMatchObject({
    kind: 'unusable_database',
    message: expect.stringContaining('another release'),
  })
  remove()
})

test('a file that is no database is refused, and the folder stays free', async () => {
  const { path, remove } = temporaryFolder()
  writeFileSync(path, 'These are not the books that you are looking for. '.repeat(100))
  await expect(openSqliteStore({ path })).rejects.toThrow(/not a database/)
  writeFileSync(path, '')
  await (await openSqliteStore({ path })).close()
  remove()
})

test('a file that is no database is not kept open', { tags: ['linux'] }, async () => {
  const { path, remove } = temporaryFolder()
  writeFileSync(path, 'These are not the books that you are looking for. '.repeat(100))
  await expect(openSqliteStore({ path })).rejects.toThrow(/not a database/)
  const opened = readdirSync('/proc/self/fd').map(name => statSync(`/proc/self/fd/${name}`, { throwIfNoEntry: false }))
  expect(opened.map(each => each?.ino)).not.toContain(statSync(path).ino)
  remove()
})

test('a reader sees the rows and cannot write', async () => {
  const { path, remove } = temporaryFolder()
  const store = await openSqliteStore({ path })
  await mustCommit(store, account(), grant(5n))
  const reader = openSqliteReader(path)
  const total = sql<bigint>`sum(posted)`.as('total_micro_usd')
  const row = await reader
    .selectFrom('account')
    .select(['id', total, sql<number>`count(*)`.as('n')])
    .executeTakeFirst()
  expect(row).toEqual({ id: 'ada', total_micro_usd: 5n, n: 1 })
  await expect(reader.updateTable('account').set({ posted: 9n }).execute()).rejects.toThrow(/readonly/)
  await expect(store.read.deleteFrom('account').execute()).rejects.toThrow(/readonly/)
  await reader.destroy()
  await store.close()
  remove()
})

test('a link in another folder does not give a database a second owner', { tags: ['posix'] }, async () => {
  const [one, other] = [temporaryFolder(), temporaryFolder()]
  const store = await openSqliteStore({ path: one.path })
  symlinkSync(one.path, other.path)
  await expect(openSqliteStore({ path: other.path })).rejects.toMatchObject({ kind: 'folder_in_use' })
  await store.close()
  for (const { remove } of [other, one]) remove()
})

test('closing twice is closing once', async () => {
  const { path, remove } = temporaryFolder()
  const store = await openSqliteStore({ path })
  await Promise.all([store.close(), store.close()])
  await (await openSqliteStore({ path })).close()
  remove()
})
