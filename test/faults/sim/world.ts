import { microUsd } from '#contract/money.ts'
import { evmNetwork, solanaNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { Log } from '#host/log.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7Floor } from '#ledger/store/uuid-v7.ts'
import { RailChains, RailFacilitators } from '#payments/rails/rails.ts'
import type { ServiceSettings } from '#service/http/service.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { canarySecret } from '../../canary/canaries.ts'
import { type Seeded, seeded } from '../seeded.ts'
import { CallRecords } from './call-records.ts'
import { Signatures, serviceUrl } from './callers.ts'
import type { Order } from './orders.ts'
import { type Landed, SimulatedChain } from './simulated-chain.ts'
import { type Delivered, SimulatedChat } from './simulated-chat.ts'
import { SimulatedDatabase } from './simulated-database.ts'
import { SimulatedFacilitator } from './simulated-facilitator.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { SimulatedStakes } from './simulated-stakes.ts'
import { SimulatedStore } from './simulated-store.ts'
import { RenderFarm, SimulatedVideo } from './simulated-video.ts'
import { solanaFeePayer, solanaPayee } from './solana-transfer.ts'
import type { Sometimes } from './sometimes.ts'
import { StoreFaults } from './store-faults.ts'
import { Trace } from './trace.ts'
import { UnitWatch } from './unit-watch.ts'
import { VirtualFiles } from './virtual-files.ts'
import type { Machine } from './virtual-machine.ts'
import { VirtualTime } from './virtual-time.ts'

export interface WorldOptions {
  seed: number
  sometimes: Sometimes
  /** For a mistake that is planted on purpose: stands between the service and its store. */
  alterStore?: (store: Store) => Store
}

/** A rule of the ledger that was broken; its message says which. */
export class BrokenInvariant extends Error {}

/** The secret that the simulated service hashes keys with. */
export const serverSecret = canarySecret

/** A late evening at the end of a month, so that days and months end while something is under way. */
const startMs = Date.parse('2026-11-30T23:50:00Z')

const evmOption: PaymentOption = {
  ...{ scheme: 'exact', network: evmNetwork, amount: '5000000', asset: usdcOnEvm, maxTimeoutSeconds: 300 },
  payTo: '0x000000000000000000000000000000000000dead',
  extra: { name: 'USD Coin', version: '2' },
}

const svmOption: PaymentOption = {
  ...{ scheme: 'exact', network: solanaNetwork, amount: '5000000', asset: usdcOnSolana, maxTimeoutSeconds: 300 },
  payTo: solanaPayee,
  extra: { feePayer: solanaFeePayer },
}

/** Dear, so that a short answer costs real money and a small credit is soon used up. */
const picoUsdPerToken = 60_000_000n

/** Everything that a seed owns: time, chance, disk, chain, engines, and the processes that live among them. */
export class World {
  readonly seed: number
  readonly sometimes: Sometimes
  readonly trace = new Trace()
  readonly time: VirtualTime
  readonly database: SimulatedDatabase
  readonly chains: Readonly<Record<'evm' | 'svm', SimulatedChain>>
  /** What was signed, by its id. */
  readonly orders = new Map<string, Order>()
  readonly farm: RenderFarm
  readonly book = new CallRecords()
  readonly signatures: Signatures
  readonly units: UnitWatch
  readonly options: Readonly<Record<'evm' | 'svm', PaymentOption>> = { evm: evmOption, svm: svmOption }
  readonly chatWeather = { troubleOnceIn: 0 }
  readonly paymentWeather = { troubleOnceIn: 0, isChainDown: false }
  readonly delivered = new Map<string, Delivered>()
  /** True where one process owns the store, false where two share it. */
  readonly soleOwner: boolean
  /** True where one signed header serves until it expires. */
  readonly signInWindow: boolean
  /** Millionths of a token, by wallet. */
  readonly stakes = new Map<string, bigint>()
  readonly processes: SimulatedProcess[] = []
  readonly #files = new VirtualFiles()
  readonly #alterStore: (store: Store) => Store
  #started = 0
  #ownUnits = 0
  #broken: BrokenInvariant | null = null

  private constructor(options: WorldOptions, database: SimulatedDatabase) {
    this.seed = options.seed
    this.sometimes = options.sometimes
    this.#alterStore = options.alterStore ?? (store => store)
    this.database = database
    const shape = this.draws('shape')
    this.soleOwner = !shape.once(3)
    this.signInWindow = shape.once(3)
    this.time = new VirtualTime(this.draws('ties'))
    this.signatures = new Signatures(this.draws('signatures'))
    this.chains = {
      evm: this.#chainOf('evm', 2_000, shape.once(2) ? 0 : 1 + shape.below(5)),
      svm: this.#chainOf('svm', 400, shape.once(2) ? 2 : 32),
    }
    this.farm = new RenderFarm(this.draws('farm'), this.trueMs, this.sometimes)
    this.units = new UnitWatch(this)
  }

  static async open(options: WorldOptions): Promise<World> {
    return new World(options, await SimulatedDatabase.open())
  }

  /** A generator of its own for each name, so that what one draws does not depend on how often the others did. */
  draws(name: string): Seeded {
    return seeded(this.seed, name)
  }

  chainOf({ rail }: Order): SimulatedChain {
    return this.chains[rail]
  }

  /** On both chains. */
  transfersToPayee(): Landed[] {
    return Object.values(this.chains).flatMap(chain => chain.transfersToPayee())
  }

  /** The true time, which no clock of a process needs to agree with. */
  readonly trueMs = (): number => startMs + this.time.nowMs

  /** The first broken rule counts; the run stops at the next look. */
  broken(sentence: string): void {
    this.#broken ??= new BrokenInvariant(sentence)
    this.trace.tell(`BROKEN: ${sentence}`)
  }

  throwIfBroken(): void {
    if (this.#broken) throw this.#broken
  }

  get serving(): readonly SimulatedProcess[] {
    return this.processes.filter(({ isServing }) => isServing)
  }

  /** Another process on the same store. What it does in its start may be cut by a kill. */
  startProcess(skewMs: number): SimulatedProcess {
    const name = `process ${++this.#started}`
    const faults = new StoreFaults(
      this.draws(`store of ${name}`),
      () => this.time.nowMs,
      (what, units) => this.units.onFault(what, units),
    )
    const process = new SimulatedProcess({
      ...{ name, faults, skewMs, time: this.time, trueMs: this.trueMs, files: this.#files },
      chance: this.draws(`chance of ${name}`),
      signerOf: (message, signature) => this.signatures.signerOf(message, signature),
      settings: this.#settings(),
      serverSecret,
      log: this.#logOf(name),
      storeOf: machine => this.#alterStore(this.#storeOf(machine, faults)),
      modelsOf: machine => this.#modelsOf(machine, name),
      stakesOf: machine =>
        new SimulatedStakes(machine, this.stakes, this.draws(`stakes of ${name}`), this.paymentWeather),
      paymentsOf: machine => this.#paymentsOf(machine, name),
    })
    this.processes.push(process)
    this.trace.tell(`${name} starts`)
    process.start().then(
      () => this.trace.tell(`${name} serves`),
      error => {
        this.trace.tell(`${name} could not start: ${wordsOf(error)}`)
        this.endProcess(process)
      },
    )
    return process
  }

  /** A kill: nothing of it goes on. */
  endProcess(process: SimulatedProcess): void {
    process.kill()
    this.forget(process)
  }

  #killInCommit(machine: Machine): void {
    const process = this.processes.find(each => each === machine)
    if (!process) return
    this.trace.tell(`${process.name} is killed in a commit`)
    this.sometimes.reached('a process was killed between a commit and its answer')
    this.endProcess(process)
  }

  forget(process: SimulatedProcess): void {
    const at = this.processes.indexOf(process)
    if (at !== -1) this.processes.splice(at, 1)
  }

  /** Written beside the service, as an operator's own command would. */
  commit(name: string, ops: Op[]): void {
    const unit = { id: `${uuidV7Floor(this.trueMs())}/${name}-${++this.#ownUnits}`, ops }
    const [outcome] = this.database.commit([unit])
    if (!outcome || !('ok' in outcome) || !outcome.ok) throw new Error(`Unit ${unit.id} was not taken.`)
    this.units.onApplied(unit, outcome, operator)
  }

  #chainOf(rail: 'evm' | 'svm', blockMs: number, confirmations: number): SimulatedChain {
    const { payTo: payee } = this.options[rail]
    return new SimulatedChain({ payee, blockMs, confirmations, draws: this.draws(`chain ${rail}`), nowMs: this.trueMs })
  }

  #storeOf(machine: Machine, faults: StoreFaults): Store {
    return new SimulatedStore({
      ...{ machine, faults, database: this.database, soleOwner: this.soleOwner },
      onApplied: (unit, outcome) => this.units.onApplied(unit, outcome, machine),
      onKilled: () => this.#killInCommit(machine),
      onFailed: (unit, why) => this.broken(`The database refused unit ${unit.id} (${opsOf(unit)}): ${why}`),
    })
  }

  #modelsOf(machine: Machine, name: string): Model[] {
    const { sometimes, delivered, chatWeather: weather } = this
    const chat = new SimulatedChat({ machine, weather, delivered, sometimes, draws: this.draws(`chat of ${name}`) })
    const video = new SimulatedVideo(machine, this.farm, this.draws(`video of ${name}`))
    const price = { inputPicoUsd: picoUsdPerToken, outputPicoUsd: picoUsdPerToken }
    return demoModels({ chat, video }).map(model => (model.type === 'text' ? { ...model, price } : model))
  }

  #paymentsOf(machine: Machine, name: string) {
    const { sometimes, orders, paymentWeather: weather } = this
    const portsOf = (rail: 'evm' | 'svm') =>
      new SimulatedFacilitator({
        ...{ machine, weather, sometimes, orders, nowMs: this.trueMs },
        chain: this.chains[rail],
        network: this.options[rail].network,
        draws: this.draws(`${rail} facilitator of ${name}`),
      })
    const [evm, svm] = [portsOf('evm'), portsOf('svm')]
    return { facilitator: new RailFacilitators({ evm, svm }), chain: new RailChains({ evm, svm }) }
  }

  #settings(): ServiceSettings {
    return {
      publicUrl: serviceUrl,
      signInDomains: [new URL(serviceUrl).host],
      signInWindow: this.signInWindow,
      vendor: 'service',
      hostName: 'simulated',
      systemPrompt: '',
      plan: 'default',
      paymentOptions: [evmOption, svmOption],
      mediaFolder: '/media',
    }
  }

  #logOf(name: string): Log {
    const note = (level: string) => (facts: object, message: string) => {
      const cause = 'err' in facts ? `: ${wordsOf(facts.err)}` : ''
      this.trace.tell(`${name} ${level}: ${message}${cause}`)
      if ('err' in facts && isMistake(facts.err)) this.broken(`${name} logged ${wordsOf(facts.err)} (${message})`)
    }
    return { info: note('info'), warn: note('warn'), error: note('error') }
  }
}

/** Stands for other writers beside the service. */
const operator: Pick<Machine, 'isAlive'> = { isAlive: true }

export const wordsOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : `${error}`

/** No fault of the world makes JavaScript throw one of these. */
export const isMistake = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError

export const opsOf = ({ ops }: { ops: readonly { op: string }[] }): string => ops.map(({ op }) => op).join('+')

export const dollars = (usd: number): bigint => microUsd(Math.round(usd * 1e6))
