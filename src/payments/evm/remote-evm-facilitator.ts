import { rpcRetries, rpcTimeoutMs } from '../bounds.ts'
import {
  answerMs,
  type FacilitatorHeaders,
  FacilitatorHttp,
  type FacilitatorQuestion,
} from '../facilitators/facilitator-http.ts'
import { RemoteFacilitator } from '../facilitators/remote-facilitator.ts'
import type { EvmPayment } from '../payment/signed-payment.ts'
import { offerProblem } from './evm-offer-problem.ts'
import { EvmSignatures } from './evm-signatures.ts'

export interface RemoteFacilitatorOptions {
  /** With its path where it has one; https, or http on this machine. */
  url: string
  /** CAIP-2, of the network that it settles on. */
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

/** Asks nothing of the network until it is used. Throws a sentence where the address is not one to send payments to. */
export async function openRemoteEvmFacilitator(
  options: RemoteFacilitatorOptions,
): Promise<RemoteFacilitator<EvmPayment>> {
  const { url, network, rpcUrl, headers = () => ({}), contractWallets = false } = options
  const http = new FacilitatorHttp({ url, headers, answerMs: { ...answerMs, ...options.answerMs } })
  const [viem, evm] = await Promise.all([import('viem'), import('@x402/evm')])
  const client = viem.createPublicClient({
    transport: viem.http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: rpcRetries }),
  })
  const signatures = new EvmSignatures(viem, evm.authorizationTypes, { rpcUrl, contractWallets })
  return new RemoteFacilitator(http, {
    network,
    signatureProblem: payment => signatures.problem(payment),
    payload: ({ signature, authorization }) => ({ signature, authorization }),
    isTransaction: id => /^0x[0-9a-f]{64}$/i.test(id),
    offerProblem: option => offerProblem(client, option),
  })
}
