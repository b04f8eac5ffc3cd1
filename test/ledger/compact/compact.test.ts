import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { compactLedger } from '#ledger/compact/compact-ledger.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { entryFolder } from '#ledger/store/sqlite/fold-entries.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { nowMs } from '../store/sample-ops.ts'
import { openTemporaryStore, temporaryFolder } from '../store/sqlite-folder.ts'
import { beforeMs, compactContract, writeYear } from './compact-contract.ts'

const places = new WeakMap<object, string>()

compactContract('a ledger in SQLite', {
  async open() {
    const opened = await openTemporaryStore()
    places.set(opened, opened.path)
    return opened
  },
  reader: opened => sqliteAuditReader(places.get(opened) ?? ''),
})

test('a kill between any two statements loses nothing, and the next time goes on', async () => {
  const { path, folder, remove } = temporaryFolder()
  onTestFinished(remove)
  const store = await openSqliteStore({ path })
  await writeYear(store)
  const clock = { now: () => nowMs }
  const before = await audit(path, { clock })
  const images: string[] = []
  const database = openForWriting(path)
  const prepare = database.prepare.bind(database)
  const imaged = (statement: StatementSync): StatementSync => {
    const run = statement.run.bind(statement)
    statement.run = (...values: never[]) => {
      const image = join(folder, `killed-${images.length}`)
      mkdirSync(image)
      for (const end of ['', '-wal'])
        if (existsSync(path + end)) copyFileSync(path + end, join(image, `farebox.db${end}`))
      images.push(join(image, 'farebox.db'))
      return run(...values)
    }
    return statement
  }
  database.prepare = sql => imaged(prepare(sql))
  const fold = entryFolder(database)
  await compactLedger({ ...store, foldEntries: async each => fold(each) }, beforeMs)
  database.close()
  await store.close()
  const whole = await audit(path, { clock })
  expect(images.length).toBeGreaterThan(20)
  for (const image of images) {
    expect(await audit(image, { clock })).toMatchObject({ ok: true, systemMicroUsd: before.systemMicroUsd })
    const again = await openSqliteStore({ path: image })
    await compactLedger(again, beforeMs)
    await again.close()
    expect(await audit(image, { clock })).toEqual(whole)
  }
})
