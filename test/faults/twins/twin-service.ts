import { randomUUID } from 'node:crypto'
import { systemClock } from '#contract/time.ts'
import { audit } from '#ledger/audit/audit.ts'
import { sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { TopUps } from '#payments/top-ups/top-up.ts'
import type { Payments } from '#payments/top-ups/top-up-offer.ts'
import { Listener } from '#service/http/listener.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'
import { answerWaitMs } from './bounds.ts'
import type { BadSettling, Rail } from './rail.ts'

const publicUrl = 'http://127.0.0.1:8402'
const closeMs = 5_000

export interface Credit {
  ref: string
  account: string
  amountMicroUsd: bigint
}

/** The real application on a socket, with two top-up machines on its one store, as two processes would have them. */
export class TwinService {
  readonly url: string
  readonly #rail: Rail
  readonly #opened: OpenedService
  readonly #listener: Listener
  readonly #doors: Doors

  private constructor(rail: Rail, opened: OpenedService, listener: Listener, doors: Doors) {
    this.#rail = rail
    this.#opened = opened
    this.#listener = listener
    this.#doors = doors
    this.url = `http://127.0.0.1:${listener.port}/api/v1/x402/top-up`
  }

  static async open(rail: Rail): Promise<TwinService> {
    const doors = new Doors()
    const opened = await openService({ payments: doors, settings: { publicUrl, paymentOptions: [rail.option] } })
    const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
    listener.serve((incoming, bindings) => opened.service.app.fetch(incoming, bindings))
    return new TwinService(rail, opened, listener, doors)
  }

  /** Two machines that settle there, each with connections of its own. */
  async settleBy(settling: BadSettling): Promise<void> {
    this.#doors.machines = await Promise.all([this.#machine(settling), this.#machine(settling)])
    for (const machine of this.#doors.machines) await machine.start()
  }

  /** One round of each process's background work on payments; then both end. */
  async rest(): Promise<void> {
    for (const machine of this.#doors.machines) {
      await machine.completer.complete()
      await machine.close()
    }
  }

  /** What was credited, by the ledger. */
  async credits(): Promise<Credit[]> {
    const rows = await this.#opened.store.read
      .selectFrom('entry')
      .select(['ref', 'account', 'amount'])
      .where('kind', '=', 'TOP_UP')
      .execute()
    return rows.map(({ ref, account, amount }) => ({ ref, account, amountMicroUsd: amount }))
  }

  /** States of payments, and how many are in each. */
  async states(): Promise<Map<string, number>> {
    const rows = await this.#opened.store.read.selectFrom('payment').select('state').execute()
    const states = new Map<string, number>()
    for (const { state } of rows) states.set(state, (states.get(state) ?? 0) + 1)
    return states
  }

  /** What an audit of the ledger finds. */
  async findings(): Promise<readonly unknown[]> {
    const reader = sqliteAuditReader(this.#opened.database)
    try {
      return (await audit(reader)).findings
    } finally {
      await reader.close()
    }
  }

  async close(): Promise<void> {
    await this.#listener.close(closeMs)
    for (const machine of this.#doors.machines) await machine.close()
    await this.#opened.close()
  }

  async #machine(settling: BadSettling): Promise<TopUps> {
    const facilitator = await settling.openFacilitator()
    return new TopUps({
      settings: { publicUrl, paymentOptions: [this.#rail.option] },
      store: this.#opened.store,
      clock: systemClock,
      log: { info() {}, warn() {}, error() {} },
      facilitator,
      chain: this.#rail.chain,
      owner: randomUUID(),
      answerWaitMs,
    })
  }
}

/** Requests go to the machines in turn. */
class Doors implements Payments {
  machines: readonly TopUps[] = []
  #next = 0

  topUp(request: Parameters<Payments['topUp']>[0]): ReturnType<Payments['topUp']> {
    const machine = this.machines[this.#next++ % this.machines.length]
    if (!machine) throw new Error('No machine takes payments yet.')
    return machine.topUp(request)
  }
}
