import type { PaymentOption } from '#contract/wire/payment.ts'
import type { Facilitator, Settlement, Verdict } from './facilitators/facilitator.ts'
import type { OnChain, PaymentChain } from './payment/payment-chain.ts'
import type { EvmPayment, Rail, SignedPayment, SvmPayment } from './payment/signed-payment.ts'

/** What is served, one a rail; a payment of a rail that is absent cannot come, since no option offers it. */
interface ByRail<Evm, Svm> {
  evm?: Evm | undefined
  svm?: Svm | undefined
}

/** Gives every payment to the facilitator of its rail. */
export class RailFacilitators implements Facilitator {
  readonly #rails: ByRail<Facilitator<EvmPayment>, Facilitator<SvmPayment>>

  constructor(rails: ByRail<Facilitator<EvmPayment>, Facilitator<SvmPayment>>) {
    this.#rails = rails
  }

  async verify(payment: SignedPayment): Promise<Verdict> {
    return payment.rail === 'evm'
      ? served(this.#rails.evm, payment.rail).verify(payment)
      : served(this.#rails.svm, payment.rail).verify(payment)
  }

  async settle(payment: SignedPayment): Promise<Settlement> {
    return payment.rail === 'evm'
      ? served(this.#rails.evm, payment.rail).settle(payment)
      : served(this.#rails.svm, payment.rail).settle(payment)
  }

  supported(): readonly string[] {
    return this.#all().flatMap(facilitator => facilitator.supported())
  }

  async problem(option: PaymentOption): Promise<string | null> {
    const facilitator = this.#all().find(each => each.supported().includes(option.network))
    return facilitator ? facilitator.problem(option) : `Nobody settles payments on ${option.network}.`
  }

  async close(): Promise<void> {
    for (const facilitator of new Set(this.#all())) await facilitator.close?.()
  }

  #all(): Pick<Facilitator, 'supported' | 'problem' | 'close'>[] {
    return Object.values(this.#rails).filter(facilitator => facilitator !== undefined)
  }
}

/** Asks the chain of each payment's rail. */
export class RailChains implements PaymentChain {
  readonly #rails: ByRail<PaymentChain<EvmPayment>, PaymentChain<SvmPayment>>

  constructor(rails: ByRail<PaymentChain<EvmPayment>, PaymentChain<SvmPayment>>) {
    this.#rails = rails
  }

  async find(payment: SignedPayment, transaction: string | null): Promise<OnChain> {
    return payment.rail === 'evm'
      ? served(this.#rails.evm, payment.rail).find(payment, transaction)
      : served(this.#rails.svm, payment.rail).find(payment, transaction)
  }

  async dated(payment: SignedPayment): Promise<SignedPayment> {
    return payment.rail === 'evm'
      ? ((await served(this.#rails.evm, payment.rail).dated?.(payment)) ?? payment)
      : ((await served(this.#rails.svm, payment.rail).dated?.(payment)) ?? payment)
  }
}

/** A row may outlive the setting of its rail. */
function served<Port>(port: Port | undefined, rail: Rail): Port {
  if (port === undefined) throw new Error(`Payments of the rail ${rail} are not served any more; set it up again.`)
  return port
}
