import { microUsd } from '#contract/money.ts'
import { blockhashBlocks } from '#payments/bounds.ts'
import type { Facilitator, Settlement, Verdict } from '#payments/facilitators/rail.ts'
import { ChainUnavailable, type OnChain, type PaymentChain, type SignedPayment } from '#payments/payment/payment.ts'
import type { SvmPayment } from '#payments/solana/svm-rail.ts'
import type { Seeded } from '../seeded.ts'
import { type Order, orderIdOf } from './orders.ts'
import type { SimulatedChain } from './simulated-chain.ts'
import type { Sometimes } from './sometimes.ts'
import { answered, type Machine } from './virtual-machine.ts'

/** What a facilitator may do to a payment; the first is what it should. */
const behaviours = [
  'settles',
  'accepts and times out',
  'fails after it settled',
  'resets before it sends',
  'is slow',
  'sends twice',
  'answers garbage',
  'lies that it settled',
  'lies that it refused',
  'does not send',
] as const
type Behaviour = (typeof behaviours)[number]

/** Milliseconds that a facilitator which is slow takes, beyond what a request waits. */
export const slowSettlementMs = 45_000
const timeoutMs = 12_000

/** When an answer comes, and what it will be by then. */
interface SettlementToCome {
  afterMs: number
  end: () => Settlement | Error
}

/** How ill the world of payments is: 0 is well, otherwise one in so many calls meets trouble. */
export interface PaymentWeather {
  troubleOnceIn: number
  isChainDown: boolean
}

export interface SimulatedFacilitatorOptions {
  machine: Machine
  chain: SimulatedChain
  network: string
  /** What was signed under each id. */
  orders: ReadonlyMap<string, Order>
  weather: PaymentWeather
  draws: Seeded
  nowMs: () => number
  sometimes: Sometimes
}

/** The two ports of payments of one rail on one machine. */
export class SimulatedFacilitator implements Facilitator, PaymentChain {
  readonly #options: SimulatedFacilitatorOptions

  constructor(options: SimulatedFacilitatorOptions) {
    this.#options = options
  }

  supported(): readonly string[] {
    return [this.#options.network]
  }

  async problem(): Promise<null> {
    return null
  }

  verify(payment: SignedPayment): Promise<Verdict> {
    return this.#ask(() => this.#judge(payment))
  }

  find(payment: SignedPayment): Promise<OnChain> {
    const { chain, draws } = this.#options
    return this.#ask(() => {
      const seen = chain.find(this.#orderOf(payment), this.#isTroubled() ? draws.below(3) : 0)
      if (seen.state === 'open') return this.#open(payment, seen.lastingBlock)
      return seen.state === 'landed' ? { ...seen, amount: microUsd(seen.amount) } : { state: seen.state }
    })
  }

  /** A blockhash tells nothing of its age, so a transaction is given as long as the newest one of this moment. */
  async dated<Payment extends SignedPayment>(payment: Payment): Promise<Payment> {
    if (payment.rail === 'evm') return payment
    return this.#ask(() => ({ ...payment, lastBlockHeight: this.#options.chain.head + blockhashBlocks }))
  }

  settle(payment: SignedPayment): Promise<Settlement> {
    const { machine, draws, sometimes } = this.#options
    const behaviour = this.#isTroubled() ? (draws.pick(behaviours) ?? 'settles') : 'settles'
    if (behaviour !== 'settles') sometimes.reached(`a facilitator ${behaviour}`)
    // The question is on its way before anything of it happens, so a process may end in between.
    return answered(
      machine,
      new Promise((resolve, reject) => {
        machine.after(draws.below(20), () => {
          const { afterMs, end } = this.#settleAs(behaviour, payment)
          machine.after(afterMs, () => {
            const ended = end()
            if (ended instanceof Error) reject(ended)
            else resolve(ended)
          })
        })
      }),
    )
  }

  #settleAs(behaviour: Behaviour, payment: SignedPayment): SettlementToCome {
    const { chain, nowMs } = this.#options
    const order = this.#orderOf(payment)
    const soon = (end: Settlement | Error): SettlementToCome => ({ afterMs: 5, end: () => end })
    if (behaviour === 'resets before it sends') return soon(new Error('Simulated: connection reset.'))
    if (behaviour === 'does not send') return soon({ state: 'unsent', why: 'Simulated: no gas.' })
    if (behaviour === 'lies that it settled') return soon({ state: 'settled', transaction: `0x${'ab'.repeat(32)}` })
    const verdict = this.#judge(payment)
    if (!verdict.valid) return soon({ state: 'refused', reason: verdict.reason })
    const { transaction, atMs } = chain.send(order, 'service')
    const inBlockMs = Math.max(0, atMs - nowMs()) + 50
    switch (behaviour) {
      case 'lies that it refused':
        return soon({ state: 'doubtful', why: 'Simulated: it says that the transfer failed.' })
      case 'accepts and times out':
        return { afterMs: timeoutMs, end: () => new Error('Simulated: time-out.') }
      case 'fails after it settled':
        return { afterMs: inBlockMs, end: () => new Error('Simulated: 502.') }
      case 'answers garbage':
        return { afterMs: inBlockMs, end: () => ({ state: 'sent', transaction: 'garbage' }) }
      case 'is slow':
        return { afterMs: slowSettlementMs, end: () => ({ state: 'settled', transaction }) }
      default:
        if (behaviour === 'sends twice') chain.send(order, 'service')
        // What was dropped on its way is waited for no longer than a receipt is.
        return {
          afterMs: inBlockMs,
          end: () => ({ state: chain.isUsed(order) ? 'settled' : 'sent', transaction }),
        }
    }
  }

  #judge(payment: SignedPayment): Verdict {
    const { chain, nowMs } = this.#options
    const order = this.#orderOf(payment)
    if (!order.isSigned) return { valid: false, reason: 'invalid_signature' }
    if (chain.isUsed(order)) return { valid: false, reason: 'nonce_used' }
    if (nowMs() >= order.validBeforeMs) return { valid: false, reason: 'expired' }
    if (nowMs() <= order.validAfterMs) return { valid: false, reason: 'not_yet_valid' }
    if (chain.balanceOf(order.from) < order.amount) return { valid: false, reason: 'insufficient_funds' }
    return { valid: true }
  }

  /** An authorization ends by the time of the chain, a transaction on Solana by its blocks. */
  #open(payment: SignedPayment, lastingBlock: number): OnChain {
    const { blockMs } = this.#options.chain
    if (payment.rail === 'evm') return { state: 'open', chainTimeSeconds: Math.floor((lastingBlock * blockMs) / 1000) }
    const { lastBlockHeight } = payment as SvmPayment
    return { state: lastBlockHeight !== null && lastingBlock > lastBlockHeight ? 'over' : 'open' }
  }

  #orderOf(payment: SignedPayment): Order {
    const order = this.#options.orders.get(orderIdOf(payment))
    if (!order) throw new Error('Nobody has signed this payment.')
    return order
  }

  #isTroubled(): boolean {
    const { weather, draws } = this.#options
    return weather.troubleOnceIn > 0 && draws.once(weather.troubleOnceIn)
  }

  /** One question to a node: it takes a moment, and may find it down. */
  #ask<Answer>(question: () => Answer): Promise<Answer> {
    const { machine, draws, weather } = this.#options
    const isLost = this.#isTroubled() && draws.once(3)
    return answered(
      machine,
      new Promise((resolve, reject) => {
        machine.after(draws.below(30), () => {
          if (weather.isChainDown || isLost) reject(new ChainUnavailable('Simulated: the node does not answer.'))
          else resolve(question())
        })
      }),
    )
  }
}
