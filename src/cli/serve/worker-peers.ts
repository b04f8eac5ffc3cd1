/** What the workers of one service tell each other through the process that supervises them. */
import type { Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OperatedBlocks } from '#operator/queries/operated-blocks.ts'
import { faultsOf } from './config.ts'

/** How long the other workers have: a reload creates engines, and a busy worker answers late. */
const peersMs = 10_000
const lostMs = peersMs + 1_000

type PeerOrder = { do: 'reload' } | { do: 'blocked' } | { do: 'lift'; subject: string }

interface PeerAnswer {
  /** Why it was not done, as a sentence. */
  failed?: string
  blocked?: { subject: string; untilMs: number }[]
}

/** The answers of the other workers that serve, and how many of them gave none. */
interface PeerAnswers {
  answers: readonly PeerAnswer[]
  silent: number
}

type ToSupervisor = { peers: 'ask'; id: number; order: PeerOrder } | { peers: 'answer'; id: number; answer: PeerAnswer }
type ToWorker = { peers: 'order'; id: number; order: PeerOrder } | ({ peers: 'answers'; id: number } & PeerAnswers)

const isPeerMessage = (message: unknown): message is ToSupervisor | ToWorker =>
  typeof message === 'object' && message !== null && Object.hasOwn(message, 'peers')

/** One question of a worker that waits for the others. */
interface Asked {
  from: Worker
  id: number
  answers: PeerAnswer[]
  waitingFor: Set<Worker>
}

/** For the supervising process: passes orders to the other workers that serve, and their answers back. */
export class PeerRelay {
  readonly #serving: ReadonlySet<Worker>
  readonly #asked = new Map<number, Asked>()
  #last = 0
  /** How often the configuration was to be loaded again. */
  reloads = 0

  constructor(serving: ReadonlySet<Worker>) {
    this.#serving = serving
  }

  /** Returns false for a message that is not for other workers. */
  heard(from: Worker, message: unknown): boolean {
    if (!isPeerMessage(message)) return false
    if (message.peers === 'ask') this.#pass(from, message.id, message.order)
    if (message.peers === 'answer') this.#collect(from, message.id, message.answer)
    return true
  }

  /** Stops waiting for a worker that ended, because it will not answer. */
  left(worker: Worker): void {
    for (const [number, asked] of this.#asked) if (asked.waitingFor.delete(worker)) this.#answerIfAll(number)
  }

  #pass(from: Worker, id: number, order: PeerOrder): void {
    const number = ++this.#last
    if (order.do === 'reload') this.reloads++
    const others = [...this.#serving].filter(worker => worker !== from)
    this.#asked.set(number, { from, id, answers: [], waitingFor: new Set(others) })
    for (const worker of others) tell(worker, { peers: 'order', id: number, order })
    this.#answerIfAll(number)
    setTimeout(() => this.#answer(number), peersMs).unref()
  }

  #collect(from: Worker, number: number, answer: PeerAnswer): void {
    const asked = this.#asked.get(number)
    if (!asked?.waitingFor.delete(from)) return
    asked.answers.push(answer)
    this.#answerIfAll(number)
  }

  #answerIfAll(number: number): void {
    if (this.#asked.get(number)?.waitingFor.size === 0) this.#answer(number)
  }

  #answer(number: number): void {
    const asked = this.#asked.get(number)
    if (!asked) return
    this.#asked.delete(number)
    const { from, id, answers, waitingFor } = asked
    tell(from, { peers: 'answers', id, answers, silent: waitingFor.size })
  }
}

/** A worker that has just ended cannot be told anything; that is noticed by its exit. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {})
}

/** What a worker does when another one orders it. */
interface PeerParts {
  reload(): Promise<void>
  blocks: OperatedBlocks
}

/** For a worker: reaches the others, and does what they order. */
export class Peers {
  readonly #waiting = new Map<number, (answers: PeerAnswers) => void>()
  readonly #does: Partial<PeerParts> = {}
  readonly #onMessage = (message: unknown) => void this.#heard(message)
  #last = 0

  constructor() {
    process.on('message', this.#onMessage)
  }

  close(): void {
    process.off('message', this.#onMessage)
  }

  /** From now on, the others can order this. */
  does(parts: Partial<PeerParts>): void {
    Object.assign(this.#does, parts)
  }

  /** Lets the others load the configuration again. Returns what went wrong there, or null. */
  async reloadOthers(): Promise<string | null> {
    const { answers, silent } = await this.#ask({ do: 'reload' })
    const failed = answers.find(answer => answer.failed !== undefined)?.failed
    if (failed !== undefined) return `Another worker still uses its former settings: ${failed}`
    if (silent === 0) return null
    return 'Another worker did not answer in time. Send SIGHUP to the service, and check its log.'
  }

  /** The blocks of all workers, each of which counts failures by itself. */
  joinBlocks(own: OperatedBlocks): OperatedBlocks {
    this.does({ blocks: own })
    return {
      blocked: async () => {
        const [here, { answers }] = await Promise.all([own.blocked(), this.#ask({ do: 'blocked' })])
        const latest = new Map<string, number>()
        for (const { subject, untilMs } of [...here, ...answers.flatMap(({ blocked = [] }) => blocked)])
          latest.set(subject, Math.max(untilMs, latest.get(subject) ?? 0))
        return [...latest].map(([subject, untilMs]) => ({ subject, untilMs }))
      },
      lift: async subject => {
        await Promise.all([own.lift(subject), this.#ask({ do: 'lift', subject })])
      },
    }
  }

  #ask(order: PeerOrder): Promise<PeerAnswers> {
    const id = ++this.#last
    const { promise, resolve } = Promise.withResolvers<PeerAnswers>()
    this.#waiting.set(id, resolve)
    send({ peers: 'ask', id, order })
    // The supervising process answers earlier, unless it has just died.
    const late = sleep(lostMs, { answers: [], silent: 1 }, { ref: false })
    return Promise.race([promise, late]).finally(() => this.#waiting.delete(id))
  }

  async #heard(message: unknown): Promise<void> {
    if (!isPeerMessage(message)) return
    if (message.peers === 'answers') this.#waiting.get(message.id)?.(message)
    if (message.peers !== 'order') return
    const answer = await this.#run(message.order).catch(error => ({ failed: failureSentence(error) }))
    send({ peers: 'answer', id: message.id, answer })
  }

  async #run(order: PeerOrder): Promise<PeerAnswer> {
    const { reload, blocks } = this.#does
    if (order.do === 'reload') await reload?.()
    if (order.do === 'lift') await blocks?.lift(order.subject)
    return order.do === 'blocked' ? { blocked: (await blocks?.blocked()) ?? [] } : {}
  }
}

const send = (message: ToSupervisor) => void process.send?.(message, undefined, undefined, () => {})

const failureSentence = (error: unknown): string =>
  faultsOf(error)?.[0]?.sentence ?? (error instanceof Error ? error.message : String(error))
