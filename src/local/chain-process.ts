import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChainFolder } from './chain-folder.ts'
import { type ChainProgram, loopbackUrl, probeChain, processExists } from './chain-program.ts'
import { type ChainRecord, readChainRecord, removeChainRecord, writeChainRecord } from './chain-record.ts'
import { prepareState, type SavedState } from './chain-state.ts'
import { findFreePort } from './free-port.ts'
import { CHAIN_POLL_MS, CHAIN_START_TIMEOUT_MS, CHAIN_STOP_TIMEOUT_MS } from './limits.ts'
import { LocalChainError } from './local-chain-error.ts'
import { spawnChain } from './spawn-chain.ts'

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
