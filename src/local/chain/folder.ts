import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'

/**
 * The local chain cannot do what was requested. The message is a sentence with the next step, suitable for a terminal.
 */
export class LocalChainError extends Error {
  override readonly name = 'LocalChainError'
}

/** The words in parentheses are those that `up` prints once it is serving. */
export const whichFolder = 'use --data with the folder that `farebox up` printed ("Everything is kept in").'

/** The files of a local chain in a data folder. */
export interface ChainFolder {
  path: string
  /** Which process is the chain, and where it listens. */
  record: string
  state: string
  /** The state that the last start loaded. */
  previousState: string
  log: string
  keys: string
  lock: string
}

export function chainFolderOf(dataDir: string): ChainFolder {
  const path = join(resolve(dataDir), 'chain')
  return {
    path,
    record: join(path, 'anvil.json'),
    state: join(path, 'state.json'),
    previousState: join(path, 'state.previous.json'),
    log: join(path, 'anvil.log'),
    keys: join(path, 'keys.json'),
    lock: join(path, 'lock.db'),
  }
}

/** Next to the other chain's files, with a lock of its own. */
export function solanaFolderOf(dataDir: string): ChainFolder {
  const path = join(resolve(dataDir), 'chain')
  return {
    path,
    record: join(path, 'solana.json'),
    state: join(path, 'solana-state.json'),
    previousState: join(path, 'solana-state.previous.json'),
    log: join(path, 'solana.log'),
    keys: join(path, 'solana-keys.json'),
    lock: join(path, 'solana-lock.db'),
  }
}

/** Readable only by its owner, because it contains test keys. */
export async function makeChainFolder(folder: ChainFolder): Promise<void> {
  await mkdir(folder.path, { recursive: true })
  await chmod(folder.path, 0o700)
}

/** SQLite's primary code for "another connection holds the lock". */
const SQLITE_BUSY = 5

/**
 * Only one process owns a local chain: two that start it would write the same state file, and each could stop it while
 * the other uses it. The lock is an open transaction, which the operating system ends with the process, even after a
 * kill.
 */
export function lockChainFolder(folder: ChainFolder): { release(): void } {
  const lock = new DatabaseSync(folder.lock, { timeout: 0 })
  try {
    lock.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    throw new LocalChainError(
      `Another farebox process owns the local chain in ${folder.path}; stop it first, or choose another folder with --data.`,
      { cause: error },
    )
  }
  return { release: () => lock.close() }
}

/** What a process leaves in the folder so that the next one finds the running chain. */
const ChainRecord = z.object({
  pid: z.int().positive(),
  port: z.int().min(1).max(65_535),
  /** A random id that the chain chooses at each start; null until it has answered once. */
  instanceId: z.string().nullable(),
})
export type ChainRecord = z.infer<typeof ChainRecord>

/** Returns null if the record is missing or unreadable: then no chain is known to be running. */
export async function readChainRecord(folder: ChainFolder): Promise<ChainRecord | null> {
  try {
    return ChainRecord.parse(JSON.parse(await readFile(folder.record, 'utf8')))
  } catch {
    return null
  }
}

/** Written atomically, so that a kill leaves a readable record. */
export async function writeChainRecord(folder: ChainFolder, record: ChainRecord): Promise<void> {
  const draft = `${folder.record}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  await rename(draft, folder.record)
}

export const removeChainRecord = (folder: ChainFolder): Promise<void> => rm(folder.record, { force: true })
