/** A PostgreSQL server of its own for tests and benches: a temporary folder, a free port of this machine, real syncs. */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findPostgres } from '../needs/find-program.ts'
import { makeEmptyCluster, type ServerUser } from './empty-cluster.ts'

const startDeadlineMs = 30_000

/** Below those that Linux gives to connections, so that no connection takes one before its server listens. */
const ownPorts = [20_000, 30_000] as const

// The server ends with the process that started it, however that ends: its standard input closes then.
const guarded = `exec 3<&0
"$@" 3<&- < /dev/null & server=$!
{ cat <&3 > /dev/null; kill -QUIT $server 2> /dev/null; } & guard=$!
exec 3<&-
wait $server
kill $guard 2> /dev/null`

export class Cluster {
  readonly port: number
  readonly #folder: string
  readonly #bin: string
  #process: ChildProcess | null = null
  #schemas = 0

  private constructor(bin: string, folder: string, port: number) {
    this.#bin = bin
    this.#folder = folder
    this.port = port
  }

  static async start(): Promise<Cluster> {
    const bin = findPostgres()
    if (!bin) throw new Error('No PostgreSQL server was found; install Debian’s package `postgresql`.')
    const folder = mkdtempSync(join(tmpdir(), 'farebox-postgres-'))
    const owner = serverUser()
    if (owner) chownSync(folder, owner.uid, owner.gid)
    const cluster = new Cluster(bin, folder, await freePort())
    try {
      makeEmptyCluster(bin, cluster.#data, owner)
      await cluster.run()
    } catch (error) {
      await cluster.stop()
      throw error
    }
    return cluster
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  /** Of the shell that started the server and ends it. */
  get processId(): number {
    return this.#process?.pid ?? 0
  }

  /** As the role of a service: it owns its tables, and no more. */
  get url(): string {
    return this.urlOf('farebox', 'farebox')
  }

  urlOf(user: string, database: string, port = this.port): string {
    return `postgres://${user}@127.0.0.1:${port}/${database}`
  }

  /** A name that no other test of this cluster has. */
  newSchema(): string {
    return `test_${++this.#schemas}`
  }

  /** Starts the server, also after a kill, with these settings beside its own; resolves when it answers. */
  async run(...settings: string[]): Promise<void> {
    const own = [`port=${this.port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
    const all = [...own, 'max_connections=100', 'log_min_messages=fatal', ...settings].flatMap(setting => [
      '-c',
      setting,
    ])
    const server = [join(this.#bin, 'postgres'), '-D', this.#data, ...all]
    const command = ['-c', guarded, 'sh', ...server]
    const options: SpawnOptions = { stdio: ['pipe', 'ignore', 'ignore'], cwd: this.#folder, ...serverUser() }
    const deadline = Date.now() + startDeadlineMs
    for (;;) {
      // After a kill the first start may find what is left of the server before.
      if (!this.#process || this.#process.exitCode !== null) this.#process = spawn('sh', command, options)
      const failure = await this.asSuperuser('SELECT 1', 'postgres').then(
        () => null,
        (error: unknown) => error,
      )
      if (!failure) return
      if (Date.now() > deadline) throw new Error('The PostgreSQL server did not start.', { cause: failure })
      await sleep(20)
    }
  }

  /** Ends the server as a power cut would, but for what the operating system has been told to write. */
  async kill(): Promise<void> {
    const running = this.#process
    if (!running) return
    const gone = once(running, 'exit')
    process.kill(Number(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n', 1)[0]), 'SIGKILL')
    running.stdin?.end()
    await gone
    this.#process = null
  }

  async stop(): Promise<void> {
    const running = this.#process
    this.#process = null
    if (running && running.exitCode === null) {
      const gone = once(running, 'exit')
      running.stdin?.end()
      await gone
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }

  /** Runs statements above all privileges; answers the rows of the last. */
  asSuperuser(text: string, database = 'farebox'): Promise<unknown[]> {
    return query(this.urlOf('postgres', database), text)
  }
}

/** One connection for one text, which may hold several statements. */
export async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const result = (await client.query(text)) as unknown as pg.QueryResult | pg.QueryResult[]
    return (Array.isArray(result) ? result.at(-1) : result)?.rows ?? []
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The server refuses to run as root. */
export function serverUser(): ServerUser | null {
  if (process.getuid?.() !== 0) return null
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...ownPorts)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
