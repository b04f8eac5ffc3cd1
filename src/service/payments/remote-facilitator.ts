import type { PublicClient } from 'viem'
import { type PaymentOption, x402Version } from '#contract/payment.ts'
import { rpcRetries, rpcTimeoutMs } from './bounds.ts'
import { ChainUnavailable } from './chain-unavailable.ts'
import { offerProblem } from './evm-offer-problem.ts'
import { EvmSignatures } from './evm-signatures.ts'
import type { Facilitator, Settlement, Verdict } from './facilitator.ts'
import { readSettlement, readSupported, readVerdict } from './facilitator-answers.ts'
import {
  answerMs,
  type FacilitatorHeaders,
  FacilitatorHttp,
  type FacilitatorQuestion,
  FacilitatorUnreached,
} from './facilitator-http.ts'
import type { EvmPayment } from './signed-payment.ts'

export interface RemoteFacilitatorOptions {
  /** With its path where it has one; https, or http on this machine. */
  url: string
  /** CAIP-2, of the EVM network that it settles on. */
  network: string
  /** A node of that network: whose signature it is and what has landed is never the facilitator's word. */
  rpcUrl: string
  /** What signs us in there; nothing where absent. */
  headers?: FacilitatorHeaders
  /** Takes payments of contracts that check their signatures themselves (EIP-1271); false where it is not said. */
  contractWallets?: boolean
  /** In place of those of the bounds. */
  answerMs?: Partial<Record<FacilitatorQuestion, number>>
}

/** Lets somebody else check and settle, over HTTP. Asks nothing of the network until it is used. */
export async function openRemoteFacilitator(options: RemoteFacilitatorOptions): Promise<RemoteFacilitator> {
  const { url, rpcUrl, headers = () => ({}), contractWallets = false } = options
  const http = new FacilitatorHttp({ url, headers, answerMs: { ...answerMs, ...options.answerMs } })
  const [viem, evm] = await Promise.all([import('viem'), import('@x402/evm')])
  const client = viem.createPublicClient({
    transport: viem.http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: rpcRetries }),
  })
  const signatures = new EvmSignatures(viem, evm.authorizationTypes, { rpcUrl, contractWallets })
  return new RemoteFacilitator({ http, client, signatures, network: options.network })
}

interface Parts {
  http: FacilitatorHttp
  client: PublicClient
  signatures: EvmSignatures
  network: string
}

/** Nothing that it says is credited, and no refusal of its ends a payment that it has been given to settle. */
export class RemoteFacilitator implements Facilitator<EvmPayment> {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  supported(): readonly string[] {
    return [this.#parts.network]
  }

  async problem(option: PaymentOption): Promise<string | null> {
    const { http, client } = this.#parts
    try {
      const kinds = readSupported(await http.ask('supported'))
      if (!kinds)
        return `The facilitator at ${http.host} does not tell what it supports; check its address and credentials.`
      if (!kinds.some(({ network }) => network === option.network)) {
        return `The facilitator at ${http.host} does not settle on ${option.network}; set another one.`
      }
    } catch {
      return `The facilitator at ${http.host} cannot be reached, so no payment can be settled; check its address.`
    }
    return offerProblem(client, option).catch(
      () => 'The node cannot be reached, so payments cannot be checked; start it or set another RPC URL.',
    )
  }

  async verify(payment: EvmPayment): Promise<Verdict> {
    const reason = await this.#parts.signatures.problem(payment)
    if (reason) return { valid: false, reason }
    const verdict = readVerdict(await this.#ask(payment))
    if (verdict.says === 'valid') return { valid: true }
    if (verdict.says === 'refused') return { valid: false, reason: verdict.reason }
    throw new ChainUnavailable('The facilitator did not tell whether the payment is good.')
  }

  /** Rejects where it gave no answer that can be read: the payment may be on its way. */
  async settle(payment: EvmPayment): Promise<Settlement> {
    try {
      const settlement = readSettlement(await this.#parts.http.ask('settle', wireTerms(payment)), isHash)
      if (!settlement) throw new Error('The facilitator’s answer cannot be read.')
      return settlement
    } catch (error) {
      if (!(error instanceof FacilitatorUnreached)) throw error
      return { state: 'unsent', why: `The facilitator at ${this.#parts.http.host} cannot be reached.` }
    }
  }

  close(): Promise<void> {
    return this.#parts.http.close()
  }

  async #ask(payment: EvmPayment) {
    try {
      return await this.#parts.http.ask('verify', wireTerms(payment))
    } catch (cause) {
      throw new ChainUnavailable('The facilitator did not answer.', { cause })
    }
  }
}

const isHash = (id: string): boolean => /^0x[0-9a-f]{64}$/i.test(id)

/** Our own option as both what was accepted and what is required, and a payload of exactly two members. */
function wireTerms({ option, authorization, signature }: EvmPayment): object {
  const paymentPayload = { x402Version, accepted: option, payload: { signature, authorization } }
  return { x402Version, paymentPayload, paymentRequirements: option }
}
