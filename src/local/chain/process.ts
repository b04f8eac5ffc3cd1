import { copyFile, readFile, rename, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAIN_POLL_MS, CHAIN_START_TIMEOUT_MS, CHAIN_STOP_TIMEOUT_MS } from '../limits.ts'
import { type ChainFolder, LocalChainError } from './folder.ts'
import {
  type ChainProgram,
  type ChainRecord,
  loopbackUrl,
  probeChain,
  processExists,
  readChainRecord,
  removeChainRecord,
  writeChainRecord,
} from './probe.ts'
import { findFreePort, spawnChain } from './spawn.ts'

/** `running`: a chain that an earlier process had left running was found. */
export type ChainOrigin = SavedState | 'running'

export interface ChainProcess {
  rpcUrl: string
  pid: number
  origin: ChainOrigin
  /** Saves the state and ends the process. Everything that was acknowledged before is in the state. */
  stop(): Promise<void>
}

/**
 * The one chain of a folder: found where it still runs, else started from the saved state. The caller holds the lock of
 * the folder. Throws `LocalChainError`.
 */
export async function startChain(program: ChainProgram, folder: ChainFolder, port: number): Promise<ChainProcess> {
  const found = await findChain(program, folder)
  const origin: ChainOrigin = found ? 'running' : await prepareState(folder)
  const record = found ?? (await spawnChain(program, folder, port))
  return { rpcUrl: loopbackUrl(record.port), pid: record.pid, origin, stop: () => stopChain(program, folder, record) }
}

/** The running chain of a folder, or null. Throws `LocalChainError` where it runs but does not answer. */
export async function findChain(program: ChainProgram, folder: ChainFolder): Promise<ChainRecord | null> {
  const record = await readChainRecord(folder)
  if (!record) return null
  const deadlineMs = Date.now() + CHAIN_START_TIMEOUT_MS
  for (;;) {
    const probe = await probeChain(program, record)
    if (probe.is === 'ours') {
      const complete = { ...record, instanceId: probe.instanceId }
      if (record.instanceId === null) await writeChainRecord(folder, complete)
      return complete
    }
    // A second chain beside one that hangs would overwrite its state.
    if (probe.is === 'silent') throw hangs(folder, record)
    // Its parent may have died between starting it and hearing from it; it may need a moment yet.
    if (record.instanceId !== null || !processExists(record.pid) || Date.now() > deadlineMs) return null
    await sleep(CHAIN_POLL_MS)
  }
}

async function stopChain(program: ChainProgram, folder: ChainFolder, record: ChainRecord): Promise<void> {
  const probe = await probeChain(program, record)
  if (probe.is === 'silent') throw hangs(folder, record)
  if (probe.is === 'ours') {
    if (process.platform === 'win32') await untilStateIsWritten(folder)
    process.kill(record.pid, 'SIGTERM')
    await untilGone(folder, record)
  }
  await removeChainRecord(folder)
}

/** It writes its state before it ends. The port tells more than the process number, which a zombie keeps. */
async function untilGone(folder: ChainFolder, record: ChainRecord): Promise<void> {
  const deadlineMs = Date.now() + CHAIN_STOP_TIMEOUT_MS
  while (processExists(record.pid) && (await findFreePort(record.port)) === null) {
    if (Date.now() > deadlineMs) throw hangs(folder, record)
    await sleep(CHAIN_POLL_MS)
  }
}

/** Windows has no signal that a chain could hear, so the state that it writes at intervals is waited for. */
async function untilStateIsWritten(folder: ChainFolder): Promise<void> {
  const askedAtMs = Date.now()
  while (Date.now() < askedAtMs + CHAIN_STOP_TIMEOUT_MS) {
    const written = await stat(folder.state).catch(() => null)
    if (written && written.mtimeMs > askedAtMs) return
    await sleep(CHAIN_POLL_MS)
  }
}

const hangs = (folder: ChainFolder, { pid }: ChainRecord): LocalChainError =>
  new LocalChainError(`The local chain in ${folder.path} (process ${pid}) does not answer; end it and start again.`)

/** `previous`: the saved state was torn, so the one before it is used, and what happened since is lost. */
export type SavedState = 'none' | 'saved' | 'previous'

/**
 * Makes sure that a chain can read what it will load. Anvil writes its state in place, so a kill at the wrong moment
 * leaves half a file; the state that the last start began with is kept beside it for that case.
 */
export async function prepareState(folder: ChainFolder): Promise<SavedState> {
  const saved = await look(folder.state)
  if (saved === 'whole') {
    await copyFile(folder.state, `${folder.previousState}.new`)
    await rename(`${folder.previousState}.new`, folder.previousState)
    return 'saved'
  }
  const previous = await look(folder.previousState)
  if (saved === 'missing' && previous === 'missing') return 'none'
  if (previous === 'whole') {
    await copyFile(folder.previousState, folder.state)
    return 'previous'
  }
  throw new LocalChainError(
    `The saved local chain ${folder.state} cannot be read; move its data folder away to begin anew.`,
  )
}

async function look(path: string): Promise<'whole' | 'torn' | 'missing'> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'
    throw error
  }
  try {
    JSON.parse(text)
    return 'whole'
  } catch {
    return 'torn'
  }
}
