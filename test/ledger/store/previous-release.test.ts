import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiKeys } from '#access/keys/api-keys.ts'
import { audit } from '#ledger/audit/audit.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { migrateSqlite, migrations, openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import { writeIntactLedger } from '../../service/ledger/damaged-ledger.ts'
import { firstBalances, firstKey, firstLedgerAtMs, firstSecret, firstUnits } from './previous-release/first-ledger.ts'
import { commitUnit } from './sample-ops.ts'
import { tamperWith, temporaryFolder } from './sqlite-folder.ts'

const releases = join(import.meta.dirname, 'previous-release')
const clock = { now: () => firstLedgerAtMs }

let folder: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  folder = temporaryFolder()
  tamperWith(folder.path, readFileSync(join(releases, '0001-first-tables.sql'), 'utf8'))
})
afterEach(() => folder.remove())

describe('the database of the first release', () => {
  let store: Store
  beforeEach(async () => {
    store = await openSqliteStore({ path: folder.path })
  })
  afterEach(() => store.close())

  test('opens, and its ledger adds up', async () => {
    const report = await audit(folder.path, { clock })
    expect(report).toMatchObject({ ok: true, findings: [], driftMicroUsd: 0n })
    expect(report.counts).toMatchObject({
      ...{ accounts: 2, entries: 8, topUps: 1, grants: 1, charges: 5, refunds: 1 },
      ...{ openHolds: 2, payments: 4, jobs: 2 },
    })
  })

  test('every balance is what it was', async () => {
    const rows = await store.read.selectFrom('account').select(['id', 'posted', 'held']).execute()
    expect(Object.fromEntries(rows.map(({ id, posted, held }) => [id, { posted, held }]))).toEqual(firstBalances)
  })

  test('a repeat of any of its units answers the first outcome and changes nothing', async () => {
    const before = everythingIn(folder.path)
    const text = readFileSync(join(releases, '0001-first-tables.sql'), 'utf8')
    for (const unit of firstUnits) {
      const stored = new RegExp(`INTO unit .*VALUES \\('${unit.id}', '(.*)'\\);`).exec(text)?.[1]
      const outcome = await commitUnit(store, unit)
      expect(outcome).toMatchObject({ ok: true, again: true })
      const balances = outcome.ok ? outcome.balances : []
      expect(JSON.stringify(balances.map(({ account, posted, held }) => [account, `${posted}`, `${held}`]))).toBe(
        stored,
      )
    }
    expect(everythingIn(folder.path)).toEqual(before)
  })

  test('its keys open their account', async () => {
    const keys = new ApiKeys({ store, clock, serverSecrets: [Buffer.from(firstSecret)] })
    expect(await keys.find(firstKey)).toMatchObject({ account: 'customer:ada', label: 'laptop' })
  })

  test('its open holds are charged and freed, and the ledger still adds up', async () => {
    const line = { sku: 'output', units: 2n, unitPricePicoUsd: 1_000_000_000n, amount: 2_000n as never }
    const capture = { op: 'capture', hold: 'open', request: 'open', model: null, lines: [line], atMs: firstLedgerAtMs }
    const ids = ['01a3185c-6000-7000-8000-000000000001', '01a3185c-6000-7000-8000-000000000002'] as const
    expect(await commitUnit(store, { id: ids[0], ops: [capture as never] })).toMatchObject({ ok: true, again: false })
    expect(await commitUnit(store, { id: ids[1], ops: [{ op: 'release', hold: 'dead' }] })).toMatchObject({ ok: true })
    expect(await audit(folder.path, { clock })).toMatchObject({ ok: true, counts: { openHolds: 0, charges: 6 } })
  })

  test('its entries stay append-only', () => {
    expect(() => tamperWith(folder.path, 'UPDATE entry SET amount = amount + 1')).toThrow('append-only')
    expect(() => tamperWith(folder.path, 'DELETE FROM entry')).toThrow('append-only')
  })
})

test('a database of a newer release is refused in one sentence, and left as it is', async () => {
  const newer = `INSERT INTO kysely_migration VALUES ('0999-from-the-future', '2030-01-01T00:00:00.000Z')`
  await (await openSqliteStore({ path: folder.path })).close()
  tamperWith(folder.path, newer)
  const before = everythingIn(folder.path)
  await expect(openSqliteStore({ path: folder.path })).rejects.toThrow(
    /^The database .+ cannot be used: its migrations are not the ones of this version; it may have been written by a newer one\. Restore a backup or update\.$/,
  )
  expect(everythingIn(folder.path)).toEqual(before)
})

test('entries of every kind read the same before and after they are made smaller', async () => {
  const sample = temporaryFolder()
  const store = await openSqliteStore({ path: sample.path })
  await writeIntactLedger(store)
  await store.close()
  const older = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '0007'))
  const path = join(folder.folder, 'older.db')
  const database = openForWriting(path)
  await migrateSqlite(database, path, older)
  database.exec(`ATTACH '${sample.path}' AS sample; INSERT INTO account SELECT ${accountColumns} FROM sample.account`)
  const columns = entryColumns.join()
  database.exec(`INSERT INTO entry (${columns}) SELECT ${columns} FROM sample.entry; DETACH sample`)
  const entries = () => readAll(database, 'entry').map(row => Object.entries(row as object).sort())
  const before = entries()
  expect(new Set(before.flat().flatMap(([name, value]) => (name === 'kind' ? [value] : []))).size).toBe(6)
  await migrateSqlite(database, path)
  expect(entries()).toEqual(before)
  database.close()
  sample.remove()
})

const accountColumns = 'id, kind, posted, held, created_at_ms'

const entryColumns = [
  ...['seq', 'id', 'kind', 'account', 'debit', 'credit', 'amount', 'posted_after', 'ref', 'line', 'request', 'model'],
  ...['sku', 'units', 'unit_price_pico_usd', 'reason', 'api_key', 'budget_period', 'budget_start_ms', 'staking_day_ms'],
  'created_at_ms',
]

/** Schema and rows, to see that nothing has changed. */
function everythingIn(path: string): unknown[] {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const schema = database.prepare('SELECT type, name, sql FROM sqlite_master ORDER BY name').all()
    const tables = schema.filter(({ type, name }) => type === 'table' && !String(name).startsWith('sqlite_'))
    return [schema, ...tables.map(({ name }) => readAll(database, String(name)))]
  } finally {
    database.close()
  }
}

function readAll(database: DatabaseSync, table: string): unknown[] {
  const statement = database.prepare(`SELECT * FROM "${table}"`)
  statement.setReadBigInts(true)
  return statement.all()
}

/** Which tables are there decides it: the first release has no claims. */
function isMigrated(path: string): boolean {
  const database = new DatabaseSync(path)
  try {
    return database.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'claim'`).get() !== undefined
  } finally {
    database.close()
  }
}

describe('a migration that is killed', () => {
  /** What a kill leaves: the files as they are between two statements. A statement's own half is in no file but the log. */
  async function imagesBetweenStatements(): Promise<string[]> {
    const images: string[] = []
    const database = openForWriting(folder.path)
    const prepare = database.prepare.bind(database)
    database.prepare = (...words) => {
      const image = join(folder.folder, `killed-${images.length}`)
      mkdirSync(image)
      for (const end of ['', '-wal'])
        if (existsSync(folder.path + end)) copyFileSync(folder.path + end, join(image, `farebox.db${end}`))
      images.push(join(image, 'farebox.db'))
      return prepare(...words)
    }
    await migrateSqlite(database, folder.path)
    database.close()
    return images
  }

  async function migrateAgain(path: string): Promise<void> {
    const database = openForWriting(path)
    await migrateSqlite(database, path)
    database.close()
  }

  test('before any of its statements leaves the old database or the new one, and the next start goes on', async () => {
    const before = everythingIn(folder.path)
    const images = await imagesBetweenStatements()
    expect(images.length).toBeGreaterThan(30)
    for (const path of images) {
      const database = new DatabaseSync(path)
      expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
      database.close()
      if (!isMigrated(path)) expect(everythingIn(path)).toEqual(before)
      await migrateAgain(path)
      expect(await audit(path, { clock })).toMatchObject({ ok: true, counts: { entries: 8 } })
    }
  })

  test('by the system, in the middle, leaves the old one', async () => {
    const before = everythingIn(folder.path)
    const child = spawn(process.execPath, [join(releases, 'migrating-child.ts'), folder.path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit')
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await exit
    expect(isMigrated(folder.path)).toBe(false)
    expect(everythingIn(folder.path)).toEqual(before)
    await (await openSqliteStore({ path: folder.path })).close()
    expect(isMigrated(folder.path)).toBe(true)
    expect(await audit(folder.path, { clock })).toMatchObject({ ok: true })
  })
})
