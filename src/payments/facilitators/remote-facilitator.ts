import { x402Version } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { ChainUnavailable } from '../payment/chain-unavailable.ts'
import type { PaymentReason } from '../payment/payment-reasons.ts'
import type { SignedPayment } from '../payment/signed-payment.ts'
import type { Facilitator, Settlement, Verdict } from './facilitator.ts'
import { type FacilitatorKind, readSettlement, readSupported, readVerdict } from './facilitator-answers.ts'
import { type FacilitatorHttp, FacilitatorUnreached } from './facilitator-http.ts'

/** What a remote facilitator's word is not taken for, and how its rail is written. */
export interface RemoteRail<Payment extends SignedPayment> {
  /** CAIP-2. */
  network: string
  /** What is wrong with the signature, before anybody else sees it; null where it is right. Rejects with `ChainUnavailable`. */
  signatureProblem(payment: Payment): Promise<PaymentReason | null>
  /** The `payload` of the wire, of exactly its members. */
  payload(payment: Payment): object
  isTransaction(id: string): boolean
  /** What is wrong with the option itself, as a sentence; `kind` is what the facilitator says of its network. */
  offerProblem(option: PaymentOption, kind: FacilitatorKind): Promise<string | null>
}

/**
 * Lets somebody else check and settle, over HTTP. Nothing that it says is credited, and no refusal of its ends a payment
 * that it has been given to settle.
 */
export class RemoteFacilitator<Payment extends SignedPayment> implements Facilitator<Payment> {
  readonly #http: FacilitatorHttp
  readonly #rail: RemoteRail<Payment>

  constructor(http: FacilitatorHttp, rail: RemoteRail<Payment>) {
    this.#http = http
    this.#rail = rail
  }

  supported(): readonly string[] {
    return [this.#rail.network]
  }

  async problem(option: PaymentOption): Promise<string | null> {
    const { host } = this.#http
    const answer = await this.#http.ask('supported').catch(() => null)
    if (!answer) return `The facilitator at ${host} cannot be reached, so no payment can be settled; check its address.`
    const kinds = readSupported(answer)
    if (!kinds) return `The facilitator at ${host} does not tell what it supports; check its address and credentials.`
    const kind = kinds.find(({ network }) => network === option.network)
    if (!kind) return `The facilitator at ${host} does not settle on ${option.network}; set another one.`
    return this.#rail
      .offerProblem(option, kind)
      .catch(() => 'The node cannot be reached, so payments cannot be checked; start it or set another RPC URL.')
  }

  async verify(payment: Payment): Promise<Verdict> {
    const reason = await this.#rail.signatureProblem(payment)
    if (reason) return { valid: false, reason }
    const verdict = readVerdict(await this.#askToVerify(payment))
    if (verdict.says === 'valid') return { valid: true }
    if (verdict.says === 'refused') return { valid: false, reason: verdict.reason }
    throw new ChainUnavailable('The facilitator did not tell whether the payment is good.')
  }

  /** Rejects where it gave no answer that can be read: the payment may be on its way. */
  async settle(payment: Payment): Promise<Settlement> {
    try {
      const answer = await this.#http.ask('settle', this.#terms(payment))
      const settlement = readSettlement(answer, id => this.#rail.isTransaction(id))
      if (!settlement) throw new Error('The facilitator’s answer cannot be read.')
      return settlement
    } catch (error) {
      if (!(error instanceof FacilitatorUnreached)) throw error
      return { state: 'unsent', why: `The facilitator at ${this.#http.host} cannot be reached.` }
    }
  }

  close(): Promise<void> {
    return this.#http.close()
  }

  async #askToVerify(payment: Payment) {
    try {
      return await this.#http.ask('verify', this.#terms(payment))
    } catch (cause) {
      throw new ChainUnavailable('The facilitator did not answer.', { cause })
    }
  }

  /** Our own option as both what was accepted and what is required, whatever the client wrote. */
  #terms(payment: Payment): object {
    const { option } = payment
    const paymentPayload = { x402Version, accepted: option, payload: this.#rail.payload(payment) }
    return { x402Version, paymentPayload, paymentRequirements: option }
  }
}
