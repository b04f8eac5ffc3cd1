import type { Log } from '#host/log.ts'
import { completionIntervalMs, completionRows } from '../bounds.ts'
import { ChainUnavailable, failureWords } from '../payment/payment-chain.ts'
import { paymentIdOf } from '../payment/signed-payment.ts'
import type { PaymentDriver } from './payment-driver.ts'
import type { AbandonedPayment, PaymentRows } from './payment-rows.ts'

/** Brings payments to an end whose request is gone: after a crash, a lost answer or a chain that could not be asked. */
export class Completer {
  readonly #rows: PaymentRows
  readonly #driver: PaymentDriver
  readonly #log: Log
  #timer: NodeJS.Timeout | null = null
  #round: Promise<void> = Promise.resolve()

  constructor(options: { rows: PaymentRows; driver: PaymentDriver; log: Log }) {
    this.#rows = options.rows
    this.#driver = options.driver
    this.#log = options.log
  }

  /** A round now and then one after the other. Resolves after the first. */
  async start(): Promise<void> {
    await this.#rows.freeDead()
    this.#timer ??= setInterval(() => this.#startRound(), completionIntervalMs).unref()
    return this.#startRound()
  }

  /** Resolves when the round that runs has ended. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
    await this.#round
  }

  /** One round. Where a chain cannot be asked the others on its rail come later, since it could not be for them either. */
  async complete(): Promise<void> {
    const silent = new Set<string>()
    for (const payment of await this.#rows.abandoned(completionRows)) {
      const rail = payment.row?.payment.rail
      if (rail && silent.has(rail)) await this.#rows.postpone(payment)
      else if (!(await this.#completeOne(payment)) && rail) silent.add(rail)
    }
  }

  async #completeOne(payment: AbandonedPayment): Promise<boolean> {
    try {
      if (payment.row) await this.#driver.resume(payment.row)
      else await this.#leave(payment)
      return true
    } catch (error) {
      const facts = { payment: paymentIdOf(payment.key), failure: failureWords(error) }
      this.#log.warn(facts, 'A payment could not be finished yet; it is tried again.')
      return !(error instanceof ChainUnavailable)
    }
  }

  /** Its money may have come, so it is neither rejected nor credited until it can be read. */
  async #leave(payment: AbandonedPayment): Promise<void> {
    const facts = { payment: paymentIdOf(payment.key) }
    this.#log.error(facts, 'A payment cannot be read, so nothing is done for it; start the release that wrote it.')
    await this.#rows.postpone(payment)
  }

  /** Rounds never overlap: one that is due while another runs is left out. */
  #startRound(): Promise<void> {
    if (this.#isRunning) return this.#round
    this.#isRunning = true
    this.#round = this.complete()
      .catch(err =>
        this.#log.error({ err }, 'Unfinished payments could not be looked for; the next round tries again.'),
      )
      .finally(() => {
        this.#isRunning = false
      })
    return this.#round
  }

  #isRunning = false
}
