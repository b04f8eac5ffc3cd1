/** `farebox serve --workers N`: so many processes behind one port, each with its own connections to the ledger. */
import type { Cluster, Worker } from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#host/log.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import { CliError, whenAborted } from '../command.ts'
import { type DataFolder, removeFile, writePrivateFile } from '../data/data-folder.ts'
import { ledgerPlaceOf } from '../data/ledger-place.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** More would share one machine's cores and up to seven connections each of one database. */
export const mostWorkers = 64

/** A worker that ended is replaced after so long, and after twice as long each time that one ends before it serves. */
const replaceAfterMs = 1_000
const replaceAfterMostMs = 30_000

/** A process that serves with others. */
export interface WorkerPart {
  /** From 1 on. */
  number: number
  /** Of the operators' loopback API, which every worker answers. */
  adminToken: string
}

interface Ready {
  /** What callers are told, and where operators' commands go. */
  baseUrl: string
  url: string
}

const numberVariable = 'FAREBOX_WORKER'
const tokenVariable = 'FAREBOX_WORKER_TOKEN'
const tokenBytes = 32

/** Null where this process is no worker. */
export function workerPartOf(env: Environment): WorkerPart | null {
  const number = Number(env[numberVariable])
  const adminToken = env[tokenVariable]
  if (!adminToken) return null
  // Until it serves, the channel must not keep a worker alive that failed to start.
  process.channel?.unref()
  return { number, adminToken }
}

/** Lines that tell which worker wrote them. */
export const workerLog = (log: Log, worker: number): Log => ({
  info: (facts, message) => log.info({ worker, ...facts }, message),
  warn: (facts, message) => log.warn({ worker, ...facts }, message),
  error: (facts, message) => log.error({ worker, ...facts }, message),
})

/** Throws where the settings do not go with several workers; logs what they do not share. */
export async function requireForWorkers(file: ConfigFile, folder: DataFolder, env: Environment, log: Log) {
  const database = file.database ?? env.DATABASE_URL
  const { engine } = (await ledgerPlaceOf(folder.root, { ...env, DATABASE_URL: database })).database
  if (engine !== 'postgres') {
    throw new CliError(
      '`--workers` needs a ledger in PostgreSQL, because one in SQLite belongs to one process.',
      'Set `database` or DATABASE_URL to postgres://USER@HOST:PORT/DATABASE, or leave out `--workers`.',
    )
  }
  if (file.metrics && !file.metrics.listen) {
    throw new CliError(
      '`--workers` needs `metrics.listen`, because a request to /metrics would reach any of the workers.',
      'Set `metrics.listen` to HOST:PORT: the first worker serves its figures there, each other one at the next port.',
    )
  }
  if (!(file.valkey ?? env.VALKEY_URL))
    log.warn({}, 'Each worker counts limits by itself; set `valkey` so that they share them.')
}

interface Supervision {
  count: number
  folder: DataFolder
  log: Log
  stopped: AbortSignal
  /** Called once, when all of them serve. */
  onReady: (ready: Ready) => void
}

/** Starts the workers, replaces those that end, and ends with them. Resolves to the exit code. */
export async function superviseWorkers({ count, folder, log, stopped, onReady }: Supervision): Promise<number> {
  const { default: cluster } = await import('node:cluster')
  const workers = new Workers(cluster, randomBytes(tokenBytes).toString('base64url'), log)
  const reload = () => workers.signal('SIGHUP')
  // Also while they start; a second signal would end running requests, so they get one.
  stopped.addEventListener('abort', () => void workers.stop(), { once: true })
  try {
    // The first by itself: it makes what is made once, such as tables and the folder's secret.
    const ready = await workers.start(1)
    const others = Array.from({ length: count - 1 }, (_, index) => workers.start(index + 2))
    if (!ready || (await Promise.all(others)).includes(null)) return stopped.aborted ? 0 : 1
    process.on('SIGHUP', reload)
    await writePrivateFile(folder.admin, JSON.stringify({ url: ready.url, token: workers.token, pid: process.pid }))
    onReady(ready)
    await whenAborted(stopped)
    return 0
  } finally {
    await workers.stop()
    process.off('SIGHUP', reload)
    await removeFile(folder.admin)
  }
}

class Workers {
  readonly token: string
  readonly #cluster: Cluster
  readonly #log: Log
  readonly #running = new Map<Worker, Promise<unknown>>()
  #isStopping = false
  #stopped: Promise<unknown> | null = null

  constructor(cluster: Cluster, token: string, log: Log) {
    this.#cluster = cluster
    this.token = token
    this.#log = log
  }

  /** Resolves once it serves; to null where it ended before that, after it has said why. From then on it is replaced. */
  async start(number: number): Promise<Ready | null> {
    if (this.#isStopping) return null
    const worker = this.#cluster.fork({ [numberVariable]: `${number}`, [tokenVariable]: this.token })
    const { promise: ready, resolve } = Promise.withResolvers<Ready | null>()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#running.set(worker, ended)
    let serves = false
    worker.on('message', (message: Ready) => {
      serves = true
      resolve(message)
    })
    worker.on('error', error => this.#log.error({ worker: number, error }, 'A worker could not be started or reached.'))
    worker.on('exit', (code, signal) => {
      this.#running.delete(worker)
      end()
      resolve(null)
      if (!serves || this.#isStopping) return
      this.#log.error({ worker: number, code, signal }, 'A worker ended; another one takes its place.')
      void this.#replace(number)
    })
    return ready
  }

  async #replace(number: number): Promise<void> {
    for (let waitMs = replaceAfterMs; ; waitMs = Math.min(waitMs * 2, replaceAfterMostMs)) {
      await sleep(waitMs, undefined, { ref: false })
      if (this.#isStopping || (await this.start(number))) return
    }
  }

  signal(signal: NodeJS.Signals): void {
    for (const worker of this.#running.keys()) worker.process.kill(signal)
  }

  /** Lets their running requests end. */
  async stop(): Promise<void> {
    if (!this.#isStopping) {
      this.#isStopping = true
      this.signal('SIGTERM')
      this.#stopped = Promise.all(this.#running.values())
    }
    await this.#stopped
  }
}

/**
 * For a worker: tells that it serves, and stops as by a signal when the process that supervises it has died. Resolves to what
 * lets go of that process.
 */
export async function joinWorkers(ready: Ready): Promise<() => void> {
  const { default: cluster } = await import('node:cluster')
  // Else Node would end this process with its running requests.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
  const stop = () => process.kill(process.pid, 'SIGTERM')
  process.once('disconnect', stop)
  process.channel?.ref()
  process.send?.(ready)
  return () => {
    process.off('disconnect', stop)
    if (process.connected) process.disconnect()
  }
}
