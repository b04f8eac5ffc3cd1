import type { FaultOrder } from './arm/fault-orders.ts'
import { offeredOptions } from './loads/top-up.ts'
import { ServerProcess } from './server-process.ts'

/** What a service logs about a ledger outage. */
const outageLines = new Set([
  'The ledger cannot be reached; calls wait or are refused until it can.',
  'The ledger still cannot be reached.',
  'The ledger can be reached again.',
])

export type Victim = 'server' | 'sibling'

export interface RunningServer {
  process: ServerProcess
  baseUrl: string
}

export interface ServersOptions {
  folder: string
  /** What every process of the run is given beside the environment of this one. */
  env?: NodeJS.ProcessEnv
  /** A second service on the same database; PostgreSQL only. */
  hasSibling?: boolean
}

/** The service that is killed, and where there is one the second service on its database. */
export class Servers {
  readonly #options: ServersOptions
  readonly #running = new Map<Victim, RunningServer>()
  #rpcUrl = ''
  #solanaRpcUrl = ''

  constructor(options: ServersOptions) {
    this.#options = options
  }

  get rpcUrl(): string {
    return this.#rpcUrl
  }

  get solanaRpcUrl(): string {
    return this.#solanaRpcUrl
  }

  get main(): RunningServer {
    const main = this.#running.get('server')
    if (!main) throw new Error('There is no server.')
    return main
  }

  get sibling(): RunningServer | null {
    return this.#running.get('sibling') ?? null
  }

  get baseUrls(): string[] {
    return [...this.#running.values()].map(({ baseUrl }) => baseUrl)
  }

  async start(): Promise<void> {
    await this.startOne('server')
    if (this.#options.hasSibling) await this.startOne('sibling')
  }

  /** Resolves when it is ready. */
  async startOne(which: Victim): Promise<void> {
    const process = await this.spawn(which)
    const { baseUrl, rpcUrl, solanaRpcUrl } = await process.ready()
    this.#running.set(which, { process, baseUrl })
    this.#rpcUrl = rpcUrl
    this.#solanaRpcUrl = solanaRpcUrl
  }

  /** Without waiting; the first order reaches the server before it does anything. */
  async spawn(which: Victim, order: FaultOrder | null = null): Promise<ServerProcess> {
    const { folder, env = {} } = this.#options
    const process =
      which === 'server'
        ? ServerProcess.spawn(folder, env, order)
        : ServerProcess.spawnSibling(folder, { ...env, ...(await this.#siblingEnv()) })
    this.#running.set(which, { process, baseUrl: '' })
    return process
  }

  async #siblingEnv(): Promise<NodeJS.ProcessEnv> {
    const { option } = await offeredOptions(this.main.baseUrl)
    return {
      FAREBOX_CHAIN_URL: this.#rpcUrl,
      FAREBOX_SOLANA_URL: this.#solanaRpcUrl,
      FAREBOX_OPTION: JSON.stringify(option),
    }
  }

  /** The lines that it wrote to stderr by then, without those that tell of a trouble that it lived through. */
  async kill(which: Victim): Promise<string[]> {
    const process = this.#running.get(which)?.process
    await process?.kill()
    const lines = (process?.errors ?? '').split('\n').filter(Boolean)
    return process?.hasOutlivedTrouble ? lines.filter(line => !outageLines.has(line)) : lines
  }

  /** Who is alive now may tell of it whenever its life ends. */
  outliveTrouble(): void {
    for (const { process } of this.#running.values()) process.hasOutlivedTrouble = true
  }

  /** What the first one ended with. The second is asked before it, because the chain goes with the first. */
  async stop(): Promise<number | null> {
    await this.sibling?.process.stop()
    this.#running.delete('sibling')
    return this.main.process.stop()
  }

  /** At once, for the end of a run. */
  end(): void {
    for (const { process } of this.#running.values()) process.end()
  }
}
