/** A Valkey or Redis server of its own for tests: a free port of this machine, nothing on disk. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { findValkey } from '../needs/find-program.ts'
import { freePort } from '../postgres/cluster.ts'

export class ValkeyServer {
  readonly port: number
  readonly #program: string
  /** Of the command line, after those that every server here has. */
  readonly #settings: readonly string[]
  #process: ChildProcess | null = null

  private constructor(program: string, port: number, settings: readonly string[]) {
    this.#program = program
    this.#settings = settings
    this.port = port
  }

  static async start(settingsAt: (port: number) => readonly string[] = () => []): Promise<ValkeyServer> {
    const program = findValkey()
    if (!program) throw new Error('No Valkey or Redis server was found; install Debian’s package `redis-server`.')
    const port = await freePort()
    const server = new ValkeyServer(program, port, settingsAt(port))
    await server.run()
    return server
  }

  /** Of the server, once it runs. */
  get processId(): number {
    return this.#process?.pid ?? 0
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it, empty, and resolves once it takes connections. */
  async run(): Promise<void> {
    const settings = ['--bind', '127.0.0.1', '--port', `${this.port}`, '--save', '', '--appendonly', 'no']
    const child = spawn(this.#program, [...settings, ...this.#settings], {
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.#process = child
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('eady to accept')) return
    throw new Error('The server ended before it took a connection.')
  }

  /** Whether it answers; its connections stay while it does not. */
  pause(): void {
    this.#process?.kill('SIGSTOP')
  }

  goOn(): void {
    this.#process?.kill('SIGCONT')
  }

  async stop(): Promise<void> {
    const child = this.#process
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}
