import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAIN_POLL_MS, CHAIN_START_TIMEOUT_MS, LOG_EXCERPT_CHARACTERS, PORT_ATTEMPTS } from '../limits.ts'
import { type ChainFolder, LocalChainError } from './folder.ts'
import { type ChainProgram, type ChainRecord, probeChain, removeChainRecord, writeChainRecord } from './probe.ts'

/** Starts a chain as a process of its own, which outlives this one. `port` 0 picks a free one. Throws `LocalChainError`. */
export async function spawnChain(program: ChainProgram, folder: ChainFolder, port: number): Promise<ChainRecord> {
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

/** Null where the port was taken. */
async function tryPort(program: ChainProgram, folder: ChainFolder, port: number): Promise<ChainRecord | null> {
  const [file, ...args] = program.command(folder, port)
  const log = openSync(folder.log, 'w', 0o600)
  const child = spawn(file, args, {
    cwd: folder.path,
    // Its own process group: the Ctrl-C of the terminal is for the parent, which then stops it in order.
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
  child.kill('SIGKILL')
  await removeChainRecord(folder)
  if (program.portTaken.test(readLog(folder))) return null
  throw await cannotStart(program, folder, outcome)
}

/** Secrets of the parent's environment are no business of a process that outlives it; where its compiled code lies is. */
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

/** Null when it ended or stayed silent. */
async function untilReady(program: ChainProgram, record: ChainRecord, outcome: Outcome): Promise<ChainRecord | null> {
  const deadlineMs = Date.now() + CHAIN_START_TIMEOUT_MS
  while (!outcome.ended && Date.now() < deadlineMs) {
    const probe = await probeChain(program, record)
    if (probe.is === 'ours' && !outcome.ended) return { ...record, instanceId: probe.instanceId }
    await sleep(CHAIN_POLL_MS)
  }
  return null
}

async function cannotStart(program: ChainProgram, folder: ChainFolder, outcome: Outcome): Promise<LocalChainError> {
  // The error of a spawn that failed arrives with the next turn of the event loop.
  await sleep(0)
  const said = outcome.error?.message ?? readLog(folder).trim().slice(0, LOG_EXCERPT_CHARACTERS)
  return new LocalChainError(
    `The local chain did not start (${said || `${program.name} said nothing`}); see ${folder.log}.`,
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
 * The port when nobody listens on it, else null; 0 picks one. Anvil, when quiet, does not tell which one it took, and
 * one that lost its port to another anvil could be mistaken for that other before it has ended.
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
