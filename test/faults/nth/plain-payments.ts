import { microUsd } from '#contract/money.ts'
import type { Facilitator, Settlement } from '#payments/facilitators/facilitator.ts'
import type { OnChain, PaymentChain, SignedPayment } from '#payments/payment/signed-payment.ts'
import { payerOf } from '#payments/rails/rails.ts'
import type { Transfer } from '../checks/chain-transfers.ts'

/** Settles whatever it is given, once, on a chain that is a list. */
export class PlainPayments implements Facilitator, PaymentChain {
  readonly transfers: Transfer[] = []
  readonly #network: string

  constructor(network: string) {
    this.#network = network
  }

  supported(): readonly string[] {
    return [this.#network]
  }

  async problem(): Promise<null> {
    return null
  }

  async verify(): Promise<{ valid: true }> {
    return { valid: true }
  }

  async settle(payment: SignedPayment): Promise<Settlement> {
    const nonce = nonceOf(payment)
    const known = this.transfers.find(each => each.nonce === nonce)
    if (known) return { state: 'refused', reason: 'nonce_used' }
    const transaction = `0x${(this.transfers.length + 1).toString(16).padStart(64, '0')}`
    this.transfers.push({ nonce, from: payerOf(payment), amount: BigInt(payment.option.amount), transaction })
    return { state: 'settled', transaction }
  }

  async find(payment: SignedPayment): Promise<OnChain> {
    const known = this.transfers.find(each => each.nonce === nonceOf(payment))
    if (!known) return { state: 'open', chainTimeSeconds: 0 }
    return { state: 'landed', transaction: known.transaction, amount: microUsd(known.amount) }
  }
}

const nonceOf = ({ key }: SignedPayment): string => key.slice(key.lastIndexOf(':') + 1)
