import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import type { Migration } from 'kysely/migration'
import { makeFolder, syncFolder } from '#host/files.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { type FoldingStore, isAwayOfSqlite, isDamage, StoreError } from '../store.ts'
import { narrowRow, type Tables } from '../tables.ts'
import { lockFolderOf, openForReading, openForWriting } from './connection.ts'
import { migrations } from './schema/tables.ts'
import { SqliteWriter } from './writer.ts'

const ownerOnlyFile = 0o600

export interface SqliteStoreOptions {
  /** The database's file; its folder is created if missing, and belongs to this process until the store closes. */
  path: string
}

/**
 * Throws `folder_in_use` if another service process owns the folder, `unusable_database` if it cannot be trusted,
 * `damaged_database` if it cannot be read.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<FoldingStore> {
  const path = resolve(options.path)
  await makeFolder(dirname(path))
  const lock = lockFolderOf(path)
  try {
    await requireItsLedger(path)
    await migrate(path)
    await noteLedger(path)
    const writer = await SqliteWriter.start({ path }, threadUrl('sqlite-writer-thread', import.meta.url))
    return storeOf(writer, openSqliteReader(path), lock)
  } catch (error) {
    lock.release()
    throw isDamage(error) ? damaged(path, 'is damaged', error) : error
  }
}

/** Records that the folder has a ledger, so that an empty or missing file is not taken for a new one. */
const noteOf = (path: string): string => `${path}.made`

/**
 * Throws `damaged_database` if the folder had a ledger and its file is missing or empty, so that no credit silently
 * restarts at zero.
 */
async function requireItsLedger(path: string): Promise<void> {
  if (!existsSync(noteOf(path))) return
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size === undefined) throw damaged(path, `is missing; to start with an empty ledger, delete ${noteOf(path)}`)
  if (size === 0) throw damaged(path, 'is empty')
}

async function noteLedger(path: string): Promise<void> {
  if (existsSync(noteOf(path))) return
  closeSync(openSync(noteOf(path), 'w', ownerOnlyFile))
  await syncFolder(dirname(path))
}

const damaged = (path: string, how: string, cause?: unknown): StoreError =>
  new StoreError(
    'damaged_database',
    `The ledger’s file ${path} ${how}${cause instanceof Error ? ` (${cause.message})` : ''}.`,
    { cause },
  )

/** Opens a reader of a database, even while a service runs on it. `destroy()` closes it. */
export const openSqliteReader = (path: string): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: new NodeSqliteDialect(() => openForReading(path)) })

async function migrate(path: string): Promise<void> {
  const database = openForWriting(path)
  try {
    await migrateSqlite(database, path)
  } finally {
    database.close()
  }
}

function storeOf(writer: SqliteWriter, read: Kysely<Tables>, lock: { release(): void }): FoldingStore {
  let closed: Promise<void> | null = null
  const close = async () => {
    await writer.close()
    await read.destroy()
    lock.release()
  }
  return {
    read,
    // Its folder's lock, which ends with its process, guarantees this.
    soleOwner: true,
    balances: writer.balances,
    commit: units => writer.commit(units),
    prune: (slice, rows) => writer.prune(slice, rows),
    foldEntries: fold => writer.foldEntries(fold),
    endHoldsOfOthers: (owner, atMs) => writer.endHoldsOfOthers(owner, atMs),
    close() {
      closed ??= close()
      return closed
    },
  }
}

/** Brings the tables up to date, completely or not at all. The database stays open. */
export async function migrateSqlite(database: DatabaseSync, path: string, steps = migrations): Promise<void> {
  if (isUpToDate(database, steps)) return
  const { Migrator } = await import('kysely/migration')
  const kysely = new Kysely<unknown>({ dialect: new NodeSqliteDialect(() => database) })
  const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => steps } })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  // A full or read-only disk says nothing about the tables.
  if (isAwayOfSqlite(error)) throw error
  const failed = results?.find(result => result.status === 'Error')?.migrationName
  const why = failed
    ? `migration ${failed} failed and was rolled back. Update farebox, or restore a backup.`
    : 'it was written by another release of farebox. Use that release, or restore a backup of this one.'
  throw new StoreError('unusable_database', `The database ${path} cannot be used: ${why}`, { cause: error })
}

/** Most starts find nothing to do, and then do not load the migration code. */
function isUpToDate(database: DatabaseSync, steps: Record<string, Migration>): boolean {
  if (!database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'kysely_migration'").get()) return false
  const applied = database.prepare('SELECT name FROM kysely_migration ORDER BY name').all()
  return applied.map(({ name }) => name).join() === Object.keys(steps).join()
}

/** Kysely over node:sqlite, for reads and migrations. Units of work use handwritten SQL. */
export class NodeSqliteDialect extends SqliteDialect {
  /** Opens at the first query; Kysely's `destroy()` closes what was opened. */
  constructor(open: () => DatabaseSync) {
    super({ database: async () => wrap(open()) })
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalDdlAdapter()
  }
}

/** Without this, Kysely's Migrator uses no transaction on SQLite, and a failed migration would be left half done. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

/** A service has some dozens of different reads; preparing one takes longer than running it. */
const keptStatements = 100

function wrap(database: DatabaseSync): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>()
  return {
    close() {
      kept.clear()
      database.close()
    },
    prepare(sql: string): SqliteStatement {
      const known = kept.get(sql)
      if (known) return known
      const statement = statementOf(database, sql)
      if (kept.size < keptStatements && /^\s*select\b/i.test(sql)) kept.set(sql, statement)
      return statement
    },
  }
}

function statementOf(database: DatabaseSync, sql: string): SqliteStatement {
  const prepare = () => {
    const statement = database.prepare(sql)
    // node:sqlite throws for plain numbers above 2^53, so all are read as bigints and narrowed by the tables' rule.
    statement.setReadBigInts(true)
    return statement
  }
  const statement = prepare()
  return {
    reader: statement.columns().length > 0,
    all: parameters => statement.all(...(parameters as SQLInputValue[])).map(narrowRow),
    run: parameters => statement.run(...(parameters as SQLInputValue[])),
    *iterate(parameters) {
      // A separate statement, because rows are taken one by one while the cached statement may serve others.
      for (const row of prepare().iterate(...(parameters as SQLInputValue[]))) yield narrowRow(row)
    },
  }
}
