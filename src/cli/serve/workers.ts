/** `farebox serve --workers N`: several processes behind one port, each with its own connections to the ledger. */
import type { Cluster, Worker } from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#host/log.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import { CliError, whenAborted } from '../command.ts'
import { type DataFolder, removeFile, writePrivateFile } from '../data/data-folder.ts'
import { ledgerPlaceOf } from '../data/ledger-place.ts'
import { PeerRelay } from './worker-peers.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** More would share one machine's cores, and take up to twelve connections each from one database. */
export const mostWorkers = 64

/**
 * A worker that ended is replaced after a delay, which doubles each time that a worker ends before it has served for a
 * while. After this many in a row all workers stop: three minutes, longer than a database's failover.
 */
const replacing = { firstMs: 1_000, mostMs: 30_000, attempts: 10, steadyMs: 30_000 }

/** A process that serves together with others. */
export interface WorkerPart {
  /** Starts at 1. */
  number: number
  /** For the operators' loopback API, which every worker answers. */
  adminToken: string
}

interface Ready {
  /** The address for callers, and for operators' commands. */
  baseUrl: string
  url: string
}

const numberVariable = 'FAREBOX_WORKER'
const tokenVariable = 'FAREBOX_WORKER_TOKEN'
const tokenBytes = 32

/** Returns null if this process is not a worker. */
export function workerPartOf(env: Environment): WorkerPart | null {
  const number = Number(env[numberVariable])
  const adminToken = env[tokenVariable]
  if (!adminToken) return null
  // Until it serves, the channel must not keep a worker alive that failed to start.
  process.channel?.unref()
  return { number, adminToken }
}

/** Log lines that say which worker wrote them. */
export const workerLog = (log: Log, worker: number): Log => ({
  info: (facts, message) => log.info({ worker, ...facts }, message),
  warn: (facts, message) => log.warn({ worker, ...facts }, message),
  error: (facts, message) => log.error({ worker, ...facts }, message),
})

/** Throws if the settings do not allow several workers; logs what they do not share. */
export async function requireForWorkers(
  file: ConfigFile,
  folder: DataFolder,
  env: Environment,
  log: Log,
  platform: string = process.platform,
): Promise<void> {
  if (platform === 'win32')
    throw new CliError(
      '`--workers` does not work on Windows, because Windows has no signals to stop and reload workers.',
      'Leave out `--workers`, or run the service on Linux or macOS, for example in WSL.',
    )
  const database = file.database ?? env.DATABASE_URL
  const { engine } = (await ledgerPlaceOf(folder.root, { ...env, DATABASE_URL: database })).database
  if (engine !== 'postgres') {
    throw new CliError(
      '`--workers` needs a ledger in PostgreSQL, because an SQLite ledger belongs to one process.',
      'Set `database` or DATABASE_URL to postgres://USER@HOST:PORT/DATABASE, or leave out `--workers`.',
    )
  }
  if (file.metrics && !file.metrics.listen) {
    throw new CliError(
      '`--workers` needs `metrics.listen`, because a request to /metrics would reach any of the workers.',
      'Set `metrics.listen` to HOST:PORT. The first worker serves its metrics there, and each other worker at the next port.',
    )
  }
  if (!(file.valkey ?? env.VALKEY_URL))
    log.warn({}, 'Each worker counts limits separately; set `valkey` so that they share them.')
}

interface Supervision {
  count: number
  folder: DataFolder
  log: Log
  stopped: AbortSignal
  /** Called once, when all of them serve. */
  onReady: (ready: Ready) => void
  /** Delays for replacing workers; a test cannot wait three minutes. */
  pace?: typeof replacing
}

/**
 * Starts the workers, replaces those that end, and ends with them. Resolves to the exit code. Throws if a worker cannot
 * be replaced, because the others would most likely fail for the same reason.
 */
export async function superviseWorkers(supervision: Supervision): Promise<number> {
  const { count, folder, log, stopped, onReady, pace = replacing } = supervision
  const { default: cluster } = await import('node:cluster')
  const workers = new Workers(cluster, { token: randomBytes(tokenBytes).toString('base64url'), log, pace })
  const reload = () => workers.reload()
  // While they start too: without a handler, the signal would end this process.
  process.on('SIGHUP', reload)
  // Also while they start. They get only one signal, because a second one would end running requests.
  stopped.addEventListener('abort', () => void workers.stop(), { once: true })
  try {
    // The first one starts alone: it creates what is created once, such as tables and the folder's secret.
    const ready = await workers.start(1)
    const others = Array.from({ length: count - 1 }, (_, index) => workers.start(index + 2))
    if (!ready || (await Promise.all(others)).includes(null)) return stopped.aborted ? 0 : 1
    await writePrivateFile(folder.admin, JSON.stringify({ url: ready.url, token: workers.token, pid: process.pid }))
    onReady(ready)
    await Promise.race([whenAborted(stopped), workers.failed])
    return 0
  } finally {
    await workers.stop()
    process.off('SIGHUP', reload)
    await removeFile(folder.admin)
  }
}

const unreached = 'A worker could not be started or reached.'

class Workers {
  readonly token: string
  /** Rejects once one of them could not be replaced. */
  readonly failed: Promise<never>
  readonly #fail: (error: Error) => void
  readonly #cluster: Cluster
  readonly #log: Log
  readonly #pace: typeof replacing
  readonly #running = new Map<Worker, Promise<unknown>>()
  /** How often in a row a worker of that number was replaced without success. */
  readonly #replaced = new Map<number, number>()
  /** Those that serve. */
  readonly #serving = new Set<Worker>()
  readonly #relay = new PeerRelay(this.#serving)
  #isStopping = false
  #stopped: Promise<unknown> | null = null

  constructor(cluster: Cluster, { token, log, pace }: { token: string; log: Log; pace: typeof replacing }) {
    this.#cluster = cluster
    this.token = token
    this.#log = log
    this.#pace = pace
    const { promise, reject } = Promise.withResolvers<never>()
    this.failed = promise
    this.#fail = reject
    // A caller may await `failed` late; until then a rejection would count as unhandled and end the process.
    promise.catch(() => {})
  }

  /**
   * Resolves once it serves; to null if it ended before that, after the reason was logged. From then on it is replaced.
   */
  async start(number: number): Promise<Ready | null> {
    if (this.#isStopping) return null
    const worker = this.#fork(number)
    if (!worker) return null
    const { promise: ready, resolve } = Promise.withResolvers<Ready | null>()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#running.set(worker, ended)
    const { reloads } = this.#relay
    let servesSinceMs: number | null = null
    worker.on('message', (message: Ready) => {
      if (this.#relay.heard(worker, message)) return
      servesSinceMs = performance.now()
      this.#serving.add(worker)
      // It may have read the configuration before the change.
      if (reloads !== this.#relay.reloads) worker.process.kill('SIGHUP')
      resolve(message)
    })
    const left = () => {
      this.#running.delete(worker)
      this.#serving.delete(worker)
      this.#relay.left(worker)
      end()
      resolve(null)
    }
    worker.on('error', error => {
      this.#log.error({ worker: number, error }, unreached)
      // Node reports no exit of a process that the system did not start.
      if (worker.process.pid === undefined) left()
    })
    worker.on('exit', (code, signal) => {
      left()
      if (servesSinceMs === null || this.#isStopping) return
      if (performance.now() - servesSinceMs >= this.#pace.steadyMs) this.#replaced.delete(number)
      this.#log.error({ worker: number, code, signal }, 'A worker ended; a new one replaces it.')
      void this.#replace(number)
    })
    return ready
  }

  /** Null if the system starts no process, such as without memory; for some reasons Node throws. */
  #fork(number: number): Worker | null {
    try {
      return this.#cluster.fork({ [numberVariable]: `${number}`, [tokenVariable]: this.token })
    } catch (error) {
      this.#log.error({ worker: number, error }, unreached)
      return null
    }
  }

  async #replace(number: number): Promise<void> {
    const { firstMs, mostMs, attempts } = this.#pace
    for (let attempt = (this.#replaced.get(number) ?? 0) + 1; attempt <= attempts; attempt++) {
      this.#replaced.set(number, attempt)
      await sleep(Math.min(firstMs * 2 ** (attempt - 1), mostMs), undefined, { ref: false })
      if (this.#isStopping || (await this.start(number)) || this.#isStopping) return
      this.#log.error({ worker: number, attempt, attempts }, 'A worker ended before it was ready.')
    }
    this.#fail(
      new CliError(
        `Worker ${number} was replaced ${attempts} times in a row and ended soon after each start, so all workers were stopped.`,
        'Its last lines in the log show the reason. Fix it, then start the service again.',
      ),
    )
  }

  /** One that is starting would end by the signal, and reads the configuration by itself. */
  reload(): void {
    this.#relay.reloads++
    for (const worker of this.#serving) worker.process.kill('SIGHUP')
  }

  /** Lets their running requests end. */
  async stop(): Promise<void> {
    if (!this.#isStopping) {
      this.#isStopping = true
      for (const worker of this.#running.keys()) worker.process.kill('SIGTERM')
      this.#stopped = Promise.all(this.#running.values())
    }
    await this.#stopped
  }
}

/**
 * For a worker: reports that it serves, and stops as by a signal if its supervising process has died. Resolves to a
 * function that detaches from that process.
 */
export async function joinWorkers(ready: Ready): Promise<() => void> {
  const { default: cluster } = await import('node:cluster')
  // Otherwise Node would end this process with its running requests.
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
