import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import type { StakeReader } from '#ledger/accounts/stake-reader.ts'
import { watchedLedger } from '#ledger/ledger-watch.ts'
import type { Store } from '#ledger/store/store.ts'
import { restartUuidV7 } from '#ledger/store/uuid-v7.ts'
import { TopUps } from '#payments/top-ups/top-up.ts'
import type { ServiceSettings } from '#service/http/service.ts'
import type { Model } from '#service/models/model.ts'
import { RunningService } from '#service/running/running-service.ts'
import type { Seeded } from '../seeded.ts'
import type { StoreFaults } from './store-faults.ts'
import type { VirtualFiles } from './virtual-files.ts'
import { type Machine, runOn } from './virtual-machine.ts'
import type { Scheduled, VirtualTime } from './virtual-time.ts'

export interface ProcessParts {
  name: string
  time: VirtualTime
  chance: Seeded
  files: VirtualFiles
  faults: StoreFaults
  /** The true time. */
  trueMs: () => number
  /** What this process's clock says beyond the true time. */
  skewMs: number
  /** The address that made this signature; null if there is none. */
  signerOf(message: string, signature: string): string | null
  settings: ServiceSettings
  serverSecret: string
  log: Log
  storeOf(machine: Machine): Store
  modelsOf(machine: Machine): Model[]
  stakesOf(machine: Machine): StakeReader
  paymentsOf(machine: Machine): Pick<ConstructorParameters<typeof TopUps>[0], 'facilitator' | 'chain'>
}

/** What a caller sees of a process that is gone. */
export class ConnectionLost extends Error {}

/** One process of the real service, from its start to its end: a clean one, or a kill at whatever it waits for. */
export class SimulatedProcess implements Machine, Clock {
  readonly name: string
  readonly chance: Seeded
  readonly files: VirtualFiles
  readonly faults: StoreFaults
  readonly store: Store
  skewMs: number
  isAlive = true
  /** From the end of its start to the beginning of its end. */
  isServing = false
  readonly #parts: ProcessParts
  readonly #topUps: TopUps
  readonly #service: RunningService
  readonly #died = Promise.withResolvers<never>()

  constructor(parts: ProcessParts) {
    this.#parts = parts
    this.name = parts.name
    this.chance = parts.chance
    this.files = parts.files
    this.faults = parts.faults
    this.skewMs = parts.skewMs
    this.store = parts.storeOf(this)
    this.#died.promise.catch(() => undefined)
    const watched = watchedLedger({ store: this.store, clock: this, log: parts.log })
    const shared = { ...watched, clock: this, log: parts.log, settings: parts.settings }
    ;[this.#topUps, this.#service] = runOn(this, () => {
      restartUuidV7()
      const topUps = new TopUps({ ...shared, ...parts.paymentsOf(this), owner: `${parts.name}/payments` })
      const signerOf = async (message: string, signature: string) => parts.signerOf(message, signature)
      const own = { models: parts.modelsOf(this), stakes: parts.stakesOf(this), payments: topUps, signerOf }
      return [topUps, new RunningService({ ...shared, ...own, secrets: [parts.serverSecret] })] as const
    })
  }

  now(): number {
    return Math.max(0, Math.floor(this.#parts.trueMs() + this.skewMs))
  }

  after(delayMs: number, run: () => void): Scheduled {
    return this.#parts.time.after(delayMs, run)
  }

  /** As the service's own opening does it: payments first, then the rest. Rejects where the store failed meanwhile. */
  async start(): Promise<void> {
    await runOn(this, async () => {
      await this.#topUps.start()
      await this.#service.start()
    })
    this.isServing = true
  }

  /** Never answers anything again, and whatever it was about to do stays undone. */
  kill(): void {
    this.isAlive = false
    this.isServing = false
    this.#died.reject(new ConnectionLost(`${this.name} was killed.`))
  }

  /** Lets running answers end, as at a deployment. */
  async stop(): Promise<void> {
    this.isServing = false
    await this.orLost(
      runOn(this, async () => {
        await this.#service.close()
        await this.#topUps.close()
      }),
    )
    // Callers that are still connected by then are cut off, as when a listener closes.
    this.kill()
  }

  /** One request on this process. Rejects with `ConnectionLost` when it is killed before the answer. */
  request(request: Request, bindings: object): Promise<Response> {
    return this.orLost(runOn(this, async () => this.#service.app.fetch(request, bindings)))
  }

  /** What this process does for a caller, until it is done or the process is gone. */
  do<Value>(run: () => Promise<Value>): Promise<Value> {
    return this.orLost(runOn(this, run))
  }

  orLost<Value>(work: Promise<Value>): Promise<Value> {
    return Promise.race([work, this.#died.promise])
  }
}
