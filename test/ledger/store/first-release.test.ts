import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiKeys } from '#access/keys/api-keys.ts'
import { audit } from '#ledger/audit/audit.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { migrateSqlite, openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import { firstBalances, firstKey, firstLedgerAtMs, firstSecret, firstUnits } from './first-release/first-ledger.ts'
import { nextRelease } from './first-release/next-release.ts'
import { commitUnit } from './sample-ops.ts'
import { tamperWith, temporaryFolder } from './sqlite-folder.ts'

const release = join(import.meta.dirname, 'first-release')
const clock = { now: () => firstLedgerAtMs }

let folder: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  folder = temporaryFolder()
  tamperWith(folder.path, readFileSync(join(release, 'first-release.sql'), 'utf8'))
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
      ...{ accounts: 2, entries: 14, topUps: 1, grants: 1, charges: 7, refunds: 2 },
      ...{ openHolds: 2, payments: 4, jobs: 2 },
    })
  })

  test('every balance is what it was', async () => {
    const rows = await store.read.selectFrom('account').select(['id', 'posted', 'held']).execute()
    expect(Object.fromEntries(rows.map(({ id, posted, held }) => [id, { posted, held }]))).toEqual(firstBalances)
  })

  test('a repeat of any of its units answers the first outcome and changes nothing', async () => {
    const before = everythingIn(folder.path)
    const text = readFileSync(join(release, 'first-release.sql'), 'utf8')
    // In the order in which they were opened.
    const numberOf = Object.fromEntries(Object.keys(firstBalances).map((id, index) => [id, index + 1]))
    for (const unit of firstUnits) {
      const stored = new RegExp(`INTO unit .*VALUES \\('${unit.id}', '(.*)'\\);`).exec(text)?.[1]
      const outcome = await commitUnit(store, unit)
      expect(outcome).toMatchObject({ ok: true, again: true })
      const balances = outcome.ok ? outcome.balances : []
      expect(balances.map(({ account, posted, held }) => `${numberOf[account]}:${posted}:${held}`).join(' ')).toBe(
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
    expect(await audit(folder.path, { clock })).toMatchObject({ ok: true, counts: { openHolds: 0, charges: 8 } })
  })

  test('its entries stay append-only', () => {
    expect(() => tamperWith(folder.path, 'UPDATE entry SET amount = amount + 1')).toThrow('append-only')
    expect(() => tamperWith(folder.path, 'DELETE FROM entry')).toThrow('append-only')
  })
})

test('a database of a newer release is refused, and left as it is', async () => {
  await migrateAgain(folder.path)
  const before = everythingIn(folder.path)
  await expect(openSqliteStore({ path: folder.path })).rejects.toThrow(
    /^The database .+ cannot be used: it was written by another release of farebox\. Use that release, or restore a backup of this one\.$/,
  )
  expect(everythingIn(folder.path)).toEqual(before)
})

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

/** Which tables are there decides it. */
function isMigrated(path: string): boolean {
  const database = new DatabaseSync(path)
  try {
    return database.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'note'`).get() !== undefined
  } finally {
    database.close()
  }
}

async function migrateAgain(path: string): Promise<void> {
  const database = openForWriting(path)
  await migrateSqlite(database, path, nextRelease)
  database.close()
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
    await migrateSqlite(database, folder.path, nextRelease)
    database.close()
    return images
  }

  test('before any of its statements leaves the old database or the new one, and the next start goes on', async () => {
    const before = everythingIn(folder.path)
    const images = await imagesBetweenStatements()
    expect(images.length).toBeGreaterThan(15)
    for (const path of images) {
      const database = new DatabaseSync(path)
      expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
      database.close()
      if (!isMigrated(path)) expect(everythingIn(path)).toEqual(before)
      await migrateAgain(path)
      expect(await audit(path, { clock })).toMatchObject({ ok: true, counts: { entries: 14 } })
    }
  })

  test('by the system, in the middle, leaves the old one', async () => {
    const before = everythingIn(folder.path)
    const child = spawn(process.execPath, [join(release, 'migrating-child.ts'), folder.path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit')
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await exit
    expect(isMigrated(folder.path)).toBe(false)
    expect(everythingIn(folder.path)).toEqual(before)
    await migrateAgain(folder.path)
    expect(isMigrated(folder.path)).toBe(true)
    expect(await audit(folder.path, { clock })).toMatchObject({ ok: true })
  })
})
