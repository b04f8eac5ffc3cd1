import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultOrder } from './arm/fault-orders.ts'
import { startMs, stopMs } from './bounds.ts'

const arm = join(import.meta.dirname, 'arm', 'arm.ts')
const sibling = join(import.meta.dirname, 'sibling-child.ts')
const launcher = join(import.meta.dirname, '..', '..', 'bin', 'farebox.mjs')

export interface ReadyServer {
  baseUrl: string
  rpcUrl: string
  solanaRpcUrl: string
}

/** The real server, in a process of its own that a kill reaches without anything between. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly #ended: Promise<number | null>
  /** Whether it lived through a trouble of the world, of which it may tell later than the trouble lasted. */
  hasOutlivedTrouble = false
  #errors = ''

  private constructor(args: readonly string[], env: NodeJS.ProcessEnv, order: FaultOrder | null) {
    // A process group of its own, so that encoders which outlive a killed server can be ended at the end.
    this.#child = spawn(process.execPath, ['--import', arm, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env: { ...process.env, ...env, ...(order ? { FAREBOX_FAULT_ORDER: JSON.stringify(order) } : {}) },
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#errors += chunk.toString()
    })
    // Not `close`, which would wait for every process that inherited a pipe.
    this.#ended = once(this.#child, 'exit').then(([code]) => code as number | null)
  }

  /** An order reaches it before it does anything. */
  static spawn(folder: string, env: NodeJS.ProcessEnv = {}, order: FaultOrder | null = null): ServerProcess {
    const args = [launcher, 'up', '--port', '0', '--json', '--no-journey', '--data', folder]
    return new ServerProcess(args, env, order)
  }

  /** A second service on the same folder, chain and PostgreSQL database, which its environment names. */
  static spawnSibling(folder: string, env: NodeJS.ProcessEnv): ServerProcess {
    return new ServerProcess([sibling, folder], env, null)
  }

  order(order: FaultOrder): void {
    if (!this.hasEnded) this.#child.send(order, () => undefined)
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Whether it ends by itself in that time. */
  async diesWithin(ms: number): Promise<boolean> {
    const waited = new AbortController()
    const late = sleep(ms, false, { signal: waited.signal }).catch(() => false)
    const died = await Promise.race([this.#ended.then(() => true), late])
    waited.abort()
    return died
  }

  /** What it has written to stderr. */
  get errors(): string {
    return this.#errors
  }

  /** Rejects where it ends, or stays silent. */
  async ready(): Promise<ReadyServer> {
    const timeout = new AbortController()
    const late = sleep(startMs, null, { signal: timeout.signal }).then(() => {
      throw new Error(`The server was not ready within ${startMs} ms. ${this.#errors}`)
    })
    const ended = this.#ended.then(code => {
      throw new Error(`The server ended with ${code} before it was ready. ${this.#errors}`)
    })
    try {
      return await Promise.race([this.#readyLine(), late, ended])
    } finally {
      timeout.abort()
      this.#child.stdout?.resume()
      for (const each of [late, ended]) each.catch(() => undefined)
    }
  }

  async #readyLine(): Promise<ReadyServer> {
    if (!this.#child.stdout) throw new Error('The server has no stdout.')
    for await (const line of createInterface({ input: this.#child.stdout })) {
      const said = JSON.parse(line) as { event: string; baseUrl: string; evmRpcUrl: string; solanaRpcUrl: string }
      const { event, baseUrl, evmRpcUrl, solanaRpcUrl } = said
      if (event === 'ready') return { baseUrl, rpcUrl: evmRpcUrl, solanaRpcUrl }
    }
    throw new Error(`The server closed its output. ${this.#errors}`)
  }

  /** SIGKILL to the server alone: its chain and its encoders are left as they are. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }

  /** SIGTERM, and what it ended with; null where it had to be killed. */
  async stop(): Promise<number | null> {
    const late = setTimeout(() => this.#child.kill('SIGKILL'), stopMs)
    this.#child.kill('SIGTERM')
    const code = await this.#ended
    clearTimeout(late)
    return code
  }

  /** At once and without waiting, with whatever it started; for the end of a run that went wrong. */
  end(): void {
    if (this.#child.pid === undefined || this.hasEnded) return
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // No process of the group is left.
    }
  }
}
