import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { busyTimeoutMs, openAttempts, openPauseMs } from '../limits.ts'
import { ensurePrivateFile, ensurePrivateFolder } from '../private-file.ts'
import { WalletRefusal } from '../terms/refusal.ts'

/** The single file of wallet and client, opened on first use, so that commands that don't need it don't wait for it. */
export interface State {
  readonly folder: string
  /** For reading. The tables of an area exist once `prepare` has been called for it. */
  database(): DatabaseSync
  /** `BEGIN IMMEDIATE` … `COMMIT`: what is read inside cannot change before it is written. `run` must not await. */
  decide<Result>(run: (database: DatabaseSync) => Result): Result
  /** Makes an area's tables; each step runs once, whichever process comes first. */
  prepare(area: string, steps: readonly Migration[]): void
  close(): void
}

/** The steps of this release for each area of the file. */
export type Areas = Readonly<Record<string, readonly Migration[]>>

/**
 * `areas` are those that are used with this state. If another release wrote one of them, none can be prepared, because
 * its release may have used the others differently, too.
 */
export function openState(folder: string, areas: Areas = {}): State {
  let opened: DatabaseSync | undefined
  const prepared = new Set<string>()
  const database = () => {
    opened ??= openDatabase(folder)
    return opened
  }
  const state: State = {
    folder,
    database,
    decide: run => inTransaction(database(), run),
    prepare(area, steps) {
      if (prepared.has(area)) return
      state.decide(db => migrate(db, area, { ...areas, [area]: steps }, join(folder, stateFileName)))
      prepared.add(area)
    },
    close() {
      opened?.close()
      opened = undefined
      prepared.clear()
    },
  }
  return state
}

export const stateFileName = 'agent.db'

/** The answer of `PRAGMA synchronous` for FULL. */
const synchronousFull = 2

function openDatabase(folder: string): DatabaseSync {
  const path = join(folder, stateFileName)
  createIn(folder, path)
  // With several names for the file, each would have its own write-ahead log, and processes would not see each other's
  // writes.
  if (statSync(path).nlink > 1)
    throw unusable(path, 'the file has a second name (a hard link), which must be removed first')
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true })
  try {
    const journal = turnToWal(database)
    database.exec('PRAGMA synchronous = FULL')
    const synchronous = database.prepare('PRAGMA synchronous').get()?.synchronous
    if (journal === 'wal' && synchronous === synchronousFull) return database
  } catch (error) {
    database.close()
    const [why, nextStep] = diskReason(error) ?? ['the file is not a database, or is damaged', restoreIt]
    throw unusable(path, why, nextStep, error)
  }
  database.close()
  throw unusable(path, 'its disk does not support a write-ahead log with full syncs')
}

function createIn(folder: string, path: string): void {
  try {
    ensurePrivateFolder(folder)
    // SQLite gives its WAL the database's file mode, so this protects both from other users.
    ensurePrivateFile(path)
  } catch (error) {
    const { code = 'no code' } = error as NodeJS.ErrnoException
    const why = folderReasons[code] ?? `the system refused it (${code})`
    const fix = folderFixes[code] ?? 'Make that folder usable'
    throw unusable(path, why, `${fix}, or set FAREBOX_DATA to another folder, then try again.`, error)
  }
}

/** Why a folder cannot have the records, by the system's code. */
const folderReasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EEXIST: 'there is a file where the folder should be',
  ENOTDIR: 'there is a file where the folder should be',
  ENOENT: 'the system cannot create a folder there',
}

const folderFixes: Readonly<Record<string, string>> = { EROFS: 'Make it writable', ENOSPC: 'Free some space' }

/** SQLite ignores its busy timeout while another process switches the same new file to WAL. */
function turnToWal(database: DatabaseSync): unknown {
  for (let attempt = 1; ; attempt++) {
    try {
      return database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode
    } catch (error) {
      if (attempt >= openAttempts || !isBusy(error)) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, openPauseMs)
    }
  }
}

const sqliteBusy = 5

/** Why an intact database cannot be opened, and what to do; by SQLite's primary code. */
const reasons: Readonly<Record<number, readonly [why: string, nextStep: string]>> = {
  8: ['the file cannot be written', 'Make the file and its folder writable, then try again.'],
  10: ['the disk is full or failing', 'Free some space, then try again.'],
  13: ['the disk is full', 'Free some space, then try again.'],
}

/** Returns why the disk refused a statement, and what to do; null for any other error. */
export const diskReason = (error: unknown): readonly [why: string, nextStep: string] | null =>
  reasons[((error as { errcode?: number } | null)?.errcode ?? 0) % 256] ?? null

/** Turns a disk's refusal of a first write, before which nothing was done, into a refusal of the wallet. */
export function orUnusable<Result>({ folder }: Pick<State, 'folder'>, write: () => Result): Result {
  try {
    return write()
  } catch (error) {
    const reason = diskReason(error)
    throw reason ? unusable(join(folder, stateFileName), ...reason, error) : error
  }
}

const isBusy = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === sqliteBusy

function inTransaction<Result>(database: DatabaseSync, run: (database: DatabaseSync) => Result): Result {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = run(database)
    database.exec('COMMIT')
    return result
  } catch (error) {
    // After some errors, such as a full disk, SQLite has already rolled back.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

const restoreIt = 'Put the data folder on a local disk, or restore the file.'

const unusable = (path: string, why: string, nextStep = restoreIt, cause?: unknown): WalletRefusal =>
  new WalletRefusal(
    {
      rule: 'state',
      sentence: `The wallet's records in ${path} cannot be used: ${why}. Nothing is signed without them.`,
      nextStep,
    },
    { cause },
  )

/** One step. Once released it never changes; a later step corrects it. */
export interface Migration {
  name: string
  sql: string
}

/** Brings one area's tables up to date, inside the caller's transaction. */
function migrate(database: DatabaseSync, area: string, areas: Areas, path: string): void {
  database.exec(
    'CREATE TABLE IF NOT EXISTS migrations (area TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (area, name)) STRICT',
  )
  const done = database.prepare('SELECT area, name FROM migrations').all()
  const left = new Map(
    Object.entries(areas).map(([each, steps]) => {
      const names = done.filter(row => row.area === each).map(row => String(row.name))
      return [each, stepsLeft(names, steps)]
    }),
  )
  if ([...left.values()].includes(null)) throw unusable(path, 'another release of farebox wrote them', useThatRelease)
  for (const step of left.get(area) ?? []) {
    database.exec(step.sql)
    database.prepare('INSERT INTO migrations (area, name) VALUES (?, ?)').run(area, step.name)
  }
}

const useThatRelease = 'Use that release, or set FAREBOX_DATA to another folder.'

/** Returns the steps that are still to do; null if the steps that were done are those of another release. */
export function stepsLeft(done: readonly string[], steps: readonly Migration[]): readonly Migration[] | null {
  // Their names are numbered, so this is the order in which they ran.
  const isOurs = done.toSorted().every((name, at) => name === steps[at]?.name)
  return isOurs ? steps.slice(done.length) : null
}
