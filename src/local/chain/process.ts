import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { copyFile, readFile, rename, stat } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '#contract/wire/json.ts'
import {
  CHAIN_POLL_MS,
  CHAIN_RPC_TIMEOUT_MS,
  CHAIN_START_TIMEOUT_MS,
  CHAIN_STOP_TIMEOUT_MS,
  LOG_EXCERPT_CHARACTERS,
  PORT_ATTEMPTS,
} from '../limits.ts'
import {
  type ChainFolder,
  type ChainRecord,
  LocalChainError,
  readChainRecord,
  removeChainRecord,
  writeChainRecord,
} from './folder.ts'

/** `running`: the chain was still running from an earlier process. */
export type ChainOrigin = SavedState | 'running'

export interface ChainProcess {
  rpcUrl: string
  pid: number
  origin: ChainOrigin
  /** Saves the state and stops the process. Everything that was acknowledged is in the state. */
  stop(): Promise<void>
}

/**
 * Returns the folder's chain: found running, or started from the saved state. The caller holds the folder's lock.
 * Throws `LocalChainError`.
 */
export async function startChain(program: ChainProgram, folder: ChainFolder, port: number): Promise<ChainProcess> {
  const found = await findChain(program, folder)
  const origin: ChainOrigin = found ? 'running' : await prepareState(folder)
  const record = found ?? (await spawnChain(program, folder, port))
  return { rpcUrl: loopbackUrl(record.port), pid: record.pid, origin, stop: () => stopChain(program, folder, record) }
}

/** Returns a folder's running chain, or null. Throws `LocalChainError` if it runs but does not answer. */
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
    // Starting a second chain beside one that hangs would overwrite its state.
    if (probe.is === 'silent') throw hangs(folder, record)
    // Its parent may have died between starting it and its first answer, so it may still need a moment.
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

/** It writes its state before it ends. The port shows this better than the process id, which a zombie process keeps. */
async function untilGone(folder: ChainFolder, record: ChainRecord): Promise<void> {
  const deadlineMs = Date.now() + CHAIN_STOP_TIMEOUT_MS
  while (processExists(record.pid) && (await findFreePort(record.port)) === null) {
    if (Date.now() > deadlineMs) throw hangs(folder, record)
    await sleep(CHAIN_POLL_MS)
  }
}

/** Windows has no signal that a chain could handle, so we wait for its periodic save. */
async function untilStateIsWritten(folder: ChainFolder): Promise<void> {
  const askedAtMs = Date.now()
  while (Date.now() < askedAtMs + CHAIN_STOP_TIMEOUT_MS) {
    const written = await stat(folder.state).catch(() => null)
    if (written && written.mtimeMs > askedAtMs) return
    await sleep(CHAIN_POLL_MS)
  }
}

const hangs = (folder: ChainFolder, { pid }: ChainRecord): LocalChainError =>
  new LocalChainError(
    `The local chain in ${folder.path} (process ${pid}) does not answer; stop that process, then start again.`,
  )

/** `previous`: the saved state was incomplete, so the one before it is used, and later changes are lost. */
type SavedState = 'none' | 'saved' | 'previous'

/**
 * Makes sure that a chain can load its state. Anvil writes its state in place, so a badly timed kill leaves half a
 * file; for that case the state that the last start loaded is kept beside it.
 */
async function prepareState(folder: ChainFolder): Promise<SavedState> {
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
    `The saved local chain ${folder.state} cannot be read; move its data folder away to start with a new chain.`,
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

/**
 * Starts a chain as a separate process, which outlives this one. `port` 0 picks a free one. Throws `LocalChainError`.
 */
async function spawnChain(program: ChainProgram, folder: ChainFolder, port: number): Promise<ChainRecord> {
  for (let attempt = 1; ; attempt++) {
    const free = await findFreePort(port)
    const record = free === null ? null : await tryPort(program, folder, free)
    if (record) return record
    if (port !== 0) {
      throw new LocalChainError(`Port ${port} is in use, so the local chain cannot start; choose another port.`)
    }
    if (attempt === PORT_ATTEMPTS) {
      throw new LocalChainError('The local chain found no free port on loopback; stop other processes.')
    }
  }
}

/** Returns null if the port was taken. */
async function tryPort(program: ChainProgram, folder: ChainFolder, port: number): Promise<ChainRecord | null> {
  const [file, ...args] = program.command(folder, port)
  const log = openSync(folder.log, 'w', 0o600)
  const child = spawn(file, args, {
    cwd: folder.path,
    // Its own process group: Ctrl-C in the terminal goes to the parent, which then stops it in order.
    detached: true,
    stdio: ['ignore', log, log],
    env: plainEnvironment(),
    windowsHide: true,
  })
  closeSync(log)
  const outcome = watch(child)
  child.unref()
  if (child.pid === undefined) throw await cannotStart(program, folder, outcome)
  await writeChainRecord(folder, { pid: child.pid, port, instanceId: null })
  const record = await untilReady(program, { pid: child.pid, port, instanceId: null }, outcome)
  if (record) {
    await writeChainRecord(folder, record)
    return record
  }
  const isRunning = !outcome.ended
  child.kill('SIGKILL')
  await removeChainRecord(folder)
  if (program.portTaken.test(readLog(folder))) return null
  throw isRunning ? isUnreached(folder, port) : await cannotStart(program, folder, outcome)
}

/**
 * The chain outlives its parent and must not get secrets from the parent's environment; only the location of compiled
 * code is passed.
 */
function plainEnvironment(): NodeJS.ProcessEnv {
  const names = ['HOME', 'TMPDIR', 'SystemRoot', 'TEMP', 'TMP', 'USERPROFILE']
  const compiled = getCompileCacheDir()
  return {
    ...Object.fromEntries(names.map(name => [name, process.env[name]])),
    ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }),
  }
}

interface Outcome {
  ended: boolean
  error?: Error
}

function watch(child: ChildProcess): Outcome {
  const outcome: Outcome = { ended: false }
  child.once('error', error => {
    outcome.ended = true
    outcome.error = error
  })
  child.once('exit', () => {
    outcome.ended = true
  })
  return outcome
}

/** Returns null if it ended, did not answer or cannot be reached. */
async function untilReady(program: ChainProgram, record: ChainRecord, outcome: Outcome): Promise<ChainRecord | null> {
  const deadlineMs = Date.now() + CHAIN_START_TIMEOUT_MS
  while (!outcome.ended && Date.now() < deadlineMs) {
    const probe = await probeChain(program, record)
    if (probe.is === 'ours' && !outcome.ended) return { ...record, instanceId: probe.instanceId }
    if (probe.is === 'unreachable') return null
    await sleep(CHAIN_POLL_MS)
  }
  return null
}

const isUnreached = (folder: ChainFolder, port: number): LocalChainError =>
  new LocalChainError(
    `The local chain runs, but does not answer at ${loopbackUrl(port)}; bring up this machine’s loopback interface, or let its firewall pass 127.0.0.1. Its log is ${folder.log}.`,
  )

async function cannotStart(program: ChainProgram, folder: ChainFolder, outcome: Outcome): Promise<LocalChainError> {
  // The error of a failed spawn arrives with the next turn of the event loop.
  await sleep(0)
  const said = outcome.error?.message ?? readLog(folder).trim().slice(0, LOG_EXCERPT_CHARACTERS)
  return new LocalChainError(
    `The local chain did not start (${said || `${program.name} printed nothing`}); see ${folder.log}.`,
  )
}

function readLog(folder: ChainFolder): string {
  try {
    return readFileSync(folder.log, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Returns the port if nothing listens on it, else null; 0 picks one. Anvil in quiet mode does not report its port, and
 * an anvil that lost its port to another one could be mistaken for the other before it ends.
 */
export function findFreePort(port: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null)
      else reject(error)
    })
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? null) : null))
    })
  })
}

/** A program that is a local chain: a separate process, which outlives the one that starts it. */
export interface ChainProgram {
  /** Its name in messages. */
  name: string
  /** Returns the program and its arguments. Throws `LocalChainError` if it is not installed. */
  command(folder: ChainFolder, port: number): [file: string, ...args: string[]]
  /** Its log message if another program has the port. */
  portTaken: RegExp
  /** Asks the program that listens there for the id that the chain chose at startup; null if it is another program. */
  instanceOf(url: string): Promise<string | null>
}

export const loopbackUrl = (port: number): string => `http://127.0.0.1:${port}`

/**
 * `gone`: nothing listens, or not the recorded chain. `silent`: something listens and does not answer. `unreachable`:
 * this machine cannot connect to itself.
 */
type Probe = { is: 'ours'; instanceId: string } | { is: 'gone' } | { is: 'silent' } | { is: 'unreachable' }

/** Checks whether the recorded chain runs. Another program may have taken the port since, so the id must match. */
async function probeChain(program: ChainProgram, { port, instanceId }: ChainRecord): Promise<Probe> {
  try {
    const found = await program.instanceOf(loopbackUrl(port))
    if (found === null || (instanceId !== null && instanceId !== found)) return { is: 'gone' }
    return { is: 'ours', instanceId: found }
  } catch (error) {
    const code = codeOf(error)
    if (noConnection.has(code)) return { is: 'unreachable' }
    if (refusedConnection.has(code)) return { is: 'gone' }
    return { is: error instanceof Error && error.name === 'TimeoutError' ? 'silent' : 'gone' }
  }
}

/** Returns the members of a chain's answer about itself. */
export async function askFacts(url: string, method: string): Promise<Readonly<Record<string, unknown>>> {
  const facts = await askChain(url, method)
  return isObject(facts) ? facts : {}
}

/** Also true if another process has got the id since. */
function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Calls a chain on loopback. Rejects with the socket's error, a `TimeoutError`, or an error with the chain's own
 * message.
 */
export async function askChain(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'error',
    signal: AbortSignal.timeout(CHAIN_RPC_TIMEOUT_MS),
  })
  const answer = (await response.json()) as { result?: unknown; error?: { message?: unknown } } | null
  if (answer === null || typeof answer !== 'object' || answer.error) {
    throw new Error(`${method} was refused: ${String(answer?.error?.message ?? 'no JSON-RPC answer')}`)
  }
  return answer.result
}

/** Nothing listens any more, as opposed to a chain that is slow or broken. */
const refusedConnection = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET'])

/** Without a loopback interface, or with a firewall that rejects its packets. */
const noConnection = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EACCES', 'EPERM'])

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined
  return String(cause?.code ?? '')
}
