import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#host/log.ts'
import { looksAtOnce, lookWaitMs } from '../bounds.ts'
import type { Facilitator } from '../facilitators/rail.ts'
import { ChainUnavailable, failureWords, type PaymentChain, paymentIdOf } from '../payment/payment.ts'
import { RailNotConfigured } from '../rails/rails.ts'
import type { PaymentDriver } from './payment-driver.ts'
import type { PaymentRow, PaymentRows } from './payment-rows.ts'

/** What a look at one payment found, for an operator. */
export interface PaymentLook {
  found: /** It has ended; its row says how. */
    | 'ended'
    /** Another process, or an earlier look, is working on it. */
    | 'driven'
    /** Too many other looks are running. */
    | 'busy'
    /** This release cannot read the stored payment. */
    | 'unreadable'
    /** Payments on its network are no longer configured. */
    | 'not_configured'
    /** The chain does not answer. */
    | 'unreachable'
    /** It is on the chain, with too few confirmations. */
    | 'unconfirmed'
    /** The chain does not show it. */
    | 'open'
  /** The problem that prevents sending it, as a sentence; null if none is known. */
  problem: string | null
}

interface Parts {
  rows: PaymentRows
  driver: PaymentDriver
  chain: PaymentChain
  facilitator: Pick<Facilitator, 'problem'>
  log: Log
  /** How long the caller waits for a look; `lookWaitMs` by default. */
  answerWaitMs?: number
}

/**
 * Drives one payment now instead of at the next round, in the same way as a round: with its lease and its fence. A look
 * therefore credits only what the chain shows, and never twice.
 */
export class PaymentLooks {
  readonly #parts: Parts
  readonly #running = new Map<string, Promise<PaymentLook>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Null if there is no such payment. Rejects if the ledger is unreachable. */
  async look(key: string): Promise<PaymentLook | null> {
    const seen = await this.#parts.rows.seen(key)
    if (!seen) return null
    if (['credited', 'rejected', 'expired'].includes(seen.state)) return without('ended')
    const { row } = seen
    if (!row) return without('unreadable')
    if (this.#running.has(key) || (await this.#parts.rows.isDriven(row))) return without('driven')
    if (this.#running.size >= looksAtOnce) return without('busy')
    const run = this.#drive(row).finally(() => this.#running.delete(key))
    this.#running.set(key, run)
    return this.#soon(run)
  }

  /** Resolves when no look is running. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  /** The look itself continues, whether or not anyone waits for it. */
  async #soon(run: Promise<PaymentLook>): Promise<PaymentLook> {
    const patience = new AbortController()
    const late = sleep(this.#parts.answerWaitMs ?? lookWaitMs, without('driven'), { signal: patience.signal })
    try {
      return await Promise.race([run, late.catch(() => without('driven'))])
    } finally {
      patience.abort()
      run.catch(() => {})
    }
  }

  async #drive(row: PaymentRow): Promise<PaymentLook> {
    const { driver, chain, facilitator, rows, log } = this.#parts
    try {
      await driver.resume(row)
      const after = await rows.find(row.key)
      if (!after || ['credited', 'rejected', 'expired'].includes(after.state)) return without('ended')
      if (await rows.isDriven(after)) return without('driven')
      const seen = await chain.find(after.payment, after.transaction)
      if (seen.state === 'unconfirmed') return without('unconfirmed')
      return { found: 'open', problem: await facilitator.problem(after.payment.option) }
    } catch (error) {
      log.warn({ payment: paymentIdOf(row.key), failure: failureWords(error) }, 'A payment could not be checked.')
      if (error instanceof RailNotConfigured) return without('not_configured')
      if (error instanceof ChainUnavailable) return without('unreachable')
      throw error
    }
  }
}

const without = (found: PaymentLook['found']): PaymentLook => ({ found, problem: null })
