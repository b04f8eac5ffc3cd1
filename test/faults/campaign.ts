import { setTimeout as sleep } from 'node:timers/promises'
import { dataFolder } from '#cli/data/data-folder.ts'
import { chainFolderOf, solanaFolderOf } from '#local/chain/folder.ts'
import { findChain } from '#local/chain/process.ts'
import { anvil } from '#local/evm/anvil.ts'
import { solana } from '#local/solana/chain.ts'
import { answersAgain, askKeyedAgain, sendAgain } from './answers-again.ts'
import * as bounds from './bounds.ts'
import { recoveredShare, type TokenPrice } from './checks/check-recovered.ts'
import { Findings } from './checks/findings.ts'
import { checkAtRest, checkStanding } from './checks/run-checks.ts'
import { SolanaTransfers } from './checks/solana-transfers.ts'
import type { KillPlan } from './kill-plan.ts'
import { LoadRecords } from './load-records.ts'
import { priceOfStreams } from './loads/broken-stream.ts'
import { newStaker } from './loads/staking-chat.ts'
import { isOpen, offeredOptions } from './loads/top-up.ts'
import { retrieveOnce } from './loads/video.ts'
import { type Customer, fundSolanaWallets, fundWallets, makeCustomer } from './prepare.ts'
import { untilQuiet } from './quiet.ts'
import type { Round } from './round.ts'
import { seeded } from './seeded.ts'
import type { ServerProcess } from './server-process.ts'
import { Servers, type Victim } from './servers.ts'
import { startLoad } from './start-load.ts'
import { sqliteLedger, type TestLedger } from './test-ledgers.ts'

export interface CampaignOptions {
  /** One for each life of the server. */
  plans: Iterable<KillPlan>
  seed: number
  folder: string
  /** In the folder where absent. */
  ledger?: TestLedger
  /** What the servers are given beside the environment of this process. */
  env?: NodeJS.ProcessEnv
  /** A second service on the same database. */
  hasSibling?: boolean
  /** At the end, for every lease that a kill left: half a minute. Without it, only what is beyond its lease is a failure. */
  waitForLeases: boolean
  onKill?: (kills: number) => void
}

export interface CampaignReport {
  kills: number
  /** Starts that were killed once more, most of them before they were ready. */
  killedStarts: number
  book: LoadRecords
  findings: Findings
  /** From the start of a process on a folder that a kill left, to its `ready`. */
  restartsMs: number[]
  /** From the last `ready` until nothing was held, on its way or queued; null where that was not waited for. */
  quietAfterMs: number | null
  /** Charges that recovery made of checkpoints, and all charges. */
  recovered: readonly [recovered: number, all: number]
}

type Callers = Pick<Round, 'keys' | 'wallets' | 'option' | 'solana' | 'keyed' | 'limited' | 'folder'> & {
  price: TokenPrice
  /** Of a customer that no load uses, so that it is never blocked. */
  probeKey: string
}

/** The real server on one folder, killed again and again under load; what it acknowledged is held against it. */
export class Campaign {
  readonly #options: CampaignOptions
  readonly #ledger: TestLedger
  readonly #book = new LoadRecords()
  readonly #findings = new Findings()
  readonly #restartsMs: number[] = []
  readonly #servers: Servers
  readonly #solanaTransfers = new SolanaTransfers()
  #kills = 0
  #killedStarts = 0
  #earlier: ReadonlySet<string> = new Set()

  constructor(options: CampaignOptions) {
    this.#options = options
    this.#ledger = options.ledger ?? sqliteLedger(dataFolder(options.folder).database)
    this.#servers = new Servers(options)
  }

  /** Rejects where the server does not start any more; everything else that is wrong stands in the findings. */
  async run(): Promise<CampaignReport> {
    try {
      await this.#servers.start()
      const callers = await this.#prepare()
      const round = this.#round(callers)
      for (let staker = 0; staker < bounds.stakersAtFirst; staker++)
        await newStaker(round, this.#seeded(`staker ${staker}`))
      for (const plan of this.#options.plans) {
        await this.#loadAndKill(callers, plan)
        await this.#restart(plan)
        await checkStanding(this.#checked(callers), this.#findings)
        this.#options.onKill?.(this.#kills)
      }
      const quietAfterMs = await this.#rest(callers)
      await this.#stop()
      return await this.#report(quietAfterMs)
    } finally {
      await this.end()
    }
  }

  /** Ends every process of this run that is left; harmless where none is. */
  async end(): Promise<void> {
    this.#servers.end()
    for (const [program, folder] of chainsOf(this.#options.folder)) {
      const chain = await findChain(program, folder).catch(() => null)
      if (chain) process.kill(chain.pid, 'SIGKILL')
    }
  }

  async #prepare(): Promise<Callers> {
    const { folder, env = {} } = this.#options
    this.#earlier = new Set((await this.#ledger.read()).charges.keys())
    const { baseUrl } = this.#servers.main
    const { option, solana } = await offeredOptions(baseUrl)
    const customer = () => makeCustomer(folder, env, this.#book)
    const [probe, keyed, limited] = [await customer(), await customer(), await customer()]
    const keys: Customer[] = []
    while (keys.length < bounds.plainCustomers) keys.push(await customer())
    this.#book.keyedCaller = keyed
    const payers = { rpcUrl: this.#servers.solanaRpcUrl, option: solana, wallets: await fundSolanaWallets(folder) }
    const wallets = await fundWallets(folder)
    const callers = { keys: keys.map(({ key }) => key), probeKey: probe.key, keyed, limited }
    return { ...callers, price: await priceOfStreams(baseUrl), folder, option, wallets, solana: payers }
  }

  async #loadAndKill(callers: Callers, plan: KillPlan): Promise<void> {
    const { victim = 'server', isArmed, mayComplain, mayFail = false } = plan
    const { main, sibling } = this.#servers
    const { process: server } = main
    let killedAtMs = Number.POSITIVE_INFINITY
    const isKilled = () => killedAtMs < Number.POSITIVE_INFINITY
    const round: Round = {
      ...this.#round(callers),
      isOver: () => isKilled() || server.hasEnded,
      killedAtMs: () => killedAtMs,
      mayBreak: () => isKilled() || isArmed,
      mayFail: () => mayFail,
    }
    const load = startLoad(plan.mix, round, this.#servers.baseUrls)
    const isAnswered = (service: ServerProcess) =>
      answersAgain(
        { ...round, baseUrl: service === server ? main.baseUrl : (sibling?.baseUrl ?? '') },
        callers.probeKey,
      )
    const seeded = this.#seeded('kill')
    await plan.untilKill({ server, sibling: sibling?.process ?? null, round, seeded, isAnswered })
    killedAtMs = Date.now()
    if (mayComplain) this.#servers.outliveTrouble()
    await this.#kill(victim, mayComplain)
    this.#kills++
    for (const failure of await load.ended) this.#findings.fail(failure)
    await this.#noteDeadHolds()
  }

  /** Between the kill and the next start: what the store has of the work that was cut. */
  async #noteDeadHolds(): Promise<void> {
    const { deadHolds, broken } = this.#book
    if (this.#ledger.areShared) await sleep(bounds.lastCommitMs)
    const { holds, charges } = await this.#ledger.read()
    for (const { id, amount, owed } of holds) {
      // On shared ledger the others are of a service that lives.
      if (deadHolds.has(id) || (this.#ledger.areShared && !broken.has(id))) continue
      const request = owed?.request ?? id
      const chargedMicroUsd = charges.get(request)?.amount ?? 0n
      deadHolds.set(id, { request, heldMicroUsd: amount, owedMicroUsd: owed?.amount ?? null, chargedMicroUsd })
    }
  }

  async #kill(victim: Victim, mayComplain = false): Promise<void> {
    const lines = await this.#servers.kill(victim)
    if (mayComplain) return
    for (const line of lines) {
      this.#findings.fail(`The server wrote: ${line.slice(0, bounds.quotedCharacters)}`)
    }
  }

  /** Now and then the start itself is killed as well. */
  async #restart({ victim = 'server', nextStart, onNextStart, mayComplain }: KillPlan): Promise<void> {
    const moments = this.#seeded('restart')
    if (nextStart || moments.once(bounds.killedStarts)) {
      const starting = await this.#servers.spawn(victim, nextStart)
      if (nextStart) onNextStart?.(await starting.diesWithin(bounds.armedStartMs))
      else await sleep(moments.below(bounds.killedStartMs))
      await this.#kill(victim, mayComplain)
      this.#killedStarts++
    }
    const startedMs = performance.now()
    await this.#servers.startOne(victim)
    this.#restartsMs.push(Math.round(performance.now() - startedMs))
  }

  async #rest(callers: Callers): Promise<number | null> {
    const { waitForLeases } = this.#options
    const acknowledged = this.#book.topUps.filter(each => each.acknowledged)
    const quietAfterMs = waitForLeases ? await untilQuiet(this.#ledger) : null
    if (waitForLeases) await this.#sendOpen(callers)
    const round = this.#round(callers)
    await sendAgain(round, acknowledged)
    await askKeyedAgain(round, waitForLeases)
    for (const [jobId, job] of [...this.#book.jobs].slice(0, bounds.filesFetched)) await retrieveOnce(round, jobId, job)
    if (waitForLeases) await untilQuiet(this.#ledger)
    await (waitForLeases ? checkAtRest : checkStanding)(this.#checked(callers), this.#findings)
    return quietAfterMs
  }

  /** Those that never reached a server are new to it, and it takes so many in a minute: the rest is for another start. */
  async #sendOpen(callers: Callers): Promise<void> {
    const open = this.#book.topUps.filter(isOpen)
    for (let first = 0; first < open.length; first += bounds.newPaymentsOfAStart) {
      if (first > 0) {
        await this.#servers.stop()
        await this.#servers.start()
      }
      await sendAgain(this.#round(callers), open.slice(first, first + bounds.newPaymentsOfAStart))
    }
  }

  async #stop(): Promise<void> {
    const code = await this.#servers.stop()
    if (code !== 0) this.#findings.fail(`The server was asked to stop and ended with ${code}.`)
    for (const [program, folder] of chainsOf(this.#options.folder)) {
      if (await findChain(program, folder)) this.#findings.fail(`A clean stop left ${program.name} running.`)
    }
  }

  #seeded = (name: string) => seeded(this.#options.seed, `${this.#kills}/${name}`)

  #round(callers: Callers): Round {
    return {
      ...callers,
      baseUrl: this.#servers.main.baseUrl,
      rpcUrl: this.#servers.rpcUrl,
      book: this.#book,
      seeded: this.#seeded,
      isOver: () => false,
      killedAtMs: () => Number.POSITIVE_INFINITY,
      mayBreak: () => false,
      mayFail: () => false,
      budget: { ...bounds.budgetAtStart },
    }
  }

  #checked({ option, solana, price }: Callers) {
    return {
      price,
      book: this.#book,
      ledger: this.#ledger,
      rpcUrl: this.#servers.rpcUrl,
      option,
      solana: { ...solana, rpcUrl: this.#servers.solanaRpcUrl, transfers: this.#solanaTransfers },
      earlier: this.#earlier,
    }
  }

  async #report(quietAfterMs: number | null): Promise<CampaignReport> {
    for (const surprise of this.#book.surprises) this.#findings.fail(surprise)
    const counts = { kills: this.#kills, killedStarts: this.#killedStarts, restartsMs: this.#restartsMs }
    const recovered = recoveredShare(this.#book, await this.#ledger.read(), this.#earlier)
    return { ...counts, book: this.#book, findings: this.#findings, quietAfterMs, recovered }
  }
}

const chainsOf = (folder: string) =>
  [
    [anvil, chainFolderOf(folder)],
    [solana, solanaFolderOf(folder)],
  ] as const
