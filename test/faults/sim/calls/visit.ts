import { balanceRemaining } from '#contract/wire/headers.ts'
import type { Seeded } from '../../seeded.ts'
import type { AnsweredRequest } from '../call-records.ts'
import { type Asked, ask, type Caller, credentialsOf } from '../callers.ts'
import type { SimulatedProcess } from '../simulated-process.ts'
import { runOn } from '../virtual-machine.ts'
import type { Scheduled } from '../virtual-time.ts'
import { isMistake, type World, wordsOf } from '../world.ts'

/** Milliseconds after which any caller gives up. */
const patienceMs = 300_000

/** One thing that a caller wants, on one process. */
export class Visit {
  readonly world: World
  readonly name: string
  readonly caller: Caller
  readonly process: SimulatedProcess
  readonly draws: Seeded
  readonly #leaving = new AbortController()
  readonly #sinceMs: number
  readonly #plans: Scheduled[] = []
  /** By the header of the answer; empty before it. */
  requestId = ''

  constructor(world: World, name: string, caller: Caller, process: SimulatedProcess) {
    this.world = world
    this.name = name
    this.caller = caller
    this.process = process
    this.draws = world.draws(name)
    this.#sinceMs = world.time.nowMs
    this.leaveAfter(patienceMs)
  }

  get hasLeft(): boolean {
    return this.#leaving.signal.aborted
  }

  /** Closes the connection, at whatever moment this is. What the process does about it, it does on its own clock. */
  leave(): void {
    runOn(this.process, () => this.#leaving.abort())
  }

  leaveAfter(ms: number): void {
    this.#plans.push(this.world.time.after(ms, () => this.leave()))
  }

  /** No caller leaves after the end. */
  end(): void {
    for (const plan of this.#plans.splice(0)) plan.cancel()
  }

  /** The answer's head. Rejects with `ConnectionLost` where the process was killed before it. */
  async ask(asked: Asked): Promise<Response> {
    const { world, process, caller, draws } = this
    const credentials = credentialsOf(caller, world.signatures, draws, process.now())
    const headers = { ...(asked.path.includes('top-up') ? {} : credentials), ...asked.headers }
    const response = await ask(process, { ...asked, headers }, caller.address, this.#leaving.signal)
    this.requestId = response.headers.get('cf-ray') ?? ''
    world.trace.tell(
      `${world.time.nowMs} ${this.name} is ${this.requestId}, whose answer begins with ${response.status}`,
    )
    if (response.status === 402 && asked.headers?.['payment-signature'])
      world.broken(`${this.name} sent a payment and was asked for a new one with a 402.`)
    this.#checkRemaining(response)
    return response
  }

  /** The whole body. Rejects with `ConnectionLost` where the process is killed before its end. */
  text(response: Response): Promise<string> {
    return this.process.do(() => response.text())
  }

  answered(status: number, facts: { cost?: bigint | null } = {}): void {
    const { world, caller, name } = this
    const delivered = world.delivered.get(name)
    const answer: AnsweredRequest = {
      account: caller.account,
      status,
      cost: facts.cost ?? null,
      delivered: delivered !== undefined && (delivered.pieces > 0 || delivered.reported),
      left: this.hasLeft,
    }
    if (this.requestId) world.book.requests.set(this.requestId, answer)
    world.trace.tell(`${world.time.nowMs} ${name} ${this.requestId}: ${status} ${facts.cost ?? ''}`)
  }

  /** What is left is never told as more than the account had posted at some moment of the call. */
  #checkRemaining(response: Response): void {
    const header = response.headers.get(balanceRemaining.name)
    if (header === null) return
    const told = balanceRemaining.parse(header)
    const most = this.world.units.mostPostedSince(this.caller.account, this.#sinceMs)
    if (told === null || told > most)
      this.world.broken(`${this.name} was told that ${header} USD remain; ${most} micro-USD were posted at most.`)
  }
}

/** Runs a call on its own. A connection may break before its end: the process was killed, or gave up in the middle. */
export function begin(visit: Visit, run: (visit: Visit) => Promise<void>): void {
  const { world, name, caller, process } = visit
  world.book.openCalls.set(name, `${name} of ${caller.name} on ${process.name} since ${world.time.nowMs} ms`)
  run(visit)
    .catch(error => {
      world.trace.tell(`${world.time.nowMs} ${name} has no end: ${wordsOf(error)}`)
      if (isMistake(error)) world.broken(`${name} met a mistake: ${wordsOf(error)}`)
    })
    .finally(() => {
      visit.end()
      world.book.openCalls.delete(name)
    })
}
