import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type AuditReader, postgresAuditReader, sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { temporaryFolder } from '../../ledger/store/sqlite-folder.ts'
import { query } from '../../postgres/cluster.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'

async function read<Row>(reader: AuditReader, sql: string, ...parameters: (string | bigint)[]): Promise<Row[]> {
  const rows: Row[] = []
  for await (const row of reader.rows<Row>(sql, ...parameters)) rows.push(row)
  return rows
}

const biggest = 9_223_372_036_854_775_807n

describe('of a file', () => {
  function openLedger() {
    const { path, remove } = temporaryFolder()
    const writer = new DatabaseSync(path)
    writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE entry (name TEXT, amount INTEGER)')
    onTestFinished(remove)
    onTestFinished(() => writer.close())
    const add = (name: string, amount: bigint) => writer.prepare('INSERT INTO entry VALUES (?, ?)').run(name, amount)
    return { path, add }
  }

  function openReader(path: string) {
    const reader = sqliteAuditReader(path)
    onTestFinished(() => reader.close())
    return reader
  }

  test('whole numbers come as they are, however large, and values stand where their marks are', async () => {
    const { path, add } = openLedger()
    add('a', biggest)
    add('b', 1n)
    const sql = 'SELECT name, amount FROM entry WHERE name = ? AND amount > ?'
    expect(await read(openReader(path), sql, 'a', 1n)).toEqual([{ name: 'a', amount: biggest }])
  })

  test('what is written meanwhile is not seen: a commit between two looks would be taken for drift', async () => {
    const { path, add } = openLedger()
    add('a', 1n)
    const reader = openReader(path)
    const before = await read(reader, 'SELECT amount FROM entry')
    add('b', 2n)
    expect(await read(reader, 'SELECT amount FROM entry')).toEqual(before)
    expect(await read(openReader(path), 'SELECT amount FROM entry')).toHaveLength(2)
  })

  test('nothing can be written by it', async () => {
    const { path } = openLedger()
    await expect(read(openReader(path), "INSERT INTO entry VALUES ('c', 3)")).rejects.toThrow(/readonly/)
  })

  test('closed, it lets the file go', async () => {
    const { path } = openLedger()
    const reader = sqliteAuditReader(path)
    reader.close()
    await expect(read(reader, 'SELECT 1')).rejects.toThrow(/not open/)
  })

  test('a path without a database is told, and none is made', () => {
    const { path, remove } = temporaryFolder()
    onTestFinished(remove)
    for (const time of [1, 2])
      expect(() => sqliteAuditReader(path), `${time}`).toThrow(`There is no database at ${path}`)
  })
})

withPostgres('of a PostgreSQL database', cluster => {
  let schemas = 0

  async function openLedger(rows: number) {
    const schema = `audited_${++schemas}`
    const url = cluster().url
    await query(
      url,
      `CREATE SCHEMA ${schema}; CREATE SEQUENCE ${schema}.counted; CREATE TABLE ${schema}.entry (place int4, small int2, amount int8, name text);
       INSERT INTO ${schema}.entry SELECT n, 1, ${biggest}, 'row ' || n FROM generate_series(1, ${rows}) n`,
    )
    const reader = await postgresAuditReader(url, schema)
    onTestFinished(() => reader.close())
    return { schema, url, reader }
  }

  test('whole numbers of every width are bigints, sums of them too, and everything else is text', async () => {
    const { reader } = await openLedger(2)
    expect(await read(reader, 'SELECT * FROM entry WHERE place = ?', 2n)).toEqual([
      { place: 2n, small: 1n, amount: biggest, name: 'row 2' },
    ])
    expect(await read(reader, 'SELECT sum(amount) AS amount FROM entry')).toEqual([{ amount: 2n * biggest }])
  })

  test('several values stand where their marks are', async () => {
    const { reader } = await openLedger(3)
    const sql = 'SELECT place FROM entry WHERE place > ? AND name <> ? ORDER BY place'
    expect(await read(reader, sql, 1n, 'row 3')).toEqual([{ place: 2n }])
  })

  test.each([0, 999, 1_000, 1_001, 2_500])('%i rows come all, in their order, and once', async count => {
    const { reader } = await openLedger(count)
    const rows = await read<{ place: bigint }>(reader, 'SELECT place FROM entry ORDER BY place')
    expect(rows.map(({ place }) => Number(place))).toEqual(Array.from({ length: count }, (_, index) => index + 1))
  })

  test('two looks may be under way at once', async () => {
    const { reader } = await openLedger(1_500)
    const counts: number[] = []
    for await (const { place } of reader.rows<{ place: bigint }>('SELECT place FROM entry WHERE place < ?', 3n)) {
      counts.push((await read(reader, 'SELECT 1 FROM entry WHERE place <= ?', place)).length)
    }
    expect(counts).toEqual([1, 2])
  })

  test('what is written meanwhile is not seen, and nothing can be written by it', async () => {
    const { reader, schema, url } = await openLedger(1)
    expect(await read(reader, 'SELECT 1 FROM entry')).toHaveLength(1)
    await query(url, `INSERT INTO ${schema}.entry VALUES (2, 1, 1, 'later')`)
    expect(await read(reader, 'SELECT 1 FROM entry')).toHaveLength(1)
    await expect(read(reader, "SELECT nextval('counted')")).rejects.toThrow(/read-only transaction/)
  })

  test('without a server it is the driver’s own error', async () => {
    await expect(postgresAuditReader('postgres://farebox@127.0.0.1:1/none')).rejects.toThrow(/ECONNREFUSED/)
  })
})
