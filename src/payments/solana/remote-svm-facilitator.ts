import { decodeBase58 } from '#contract/wire/base58.ts'
import {
  answerMs,
  type FacilitatorHeaders,
  FacilitatorHttp,
  type FacilitatorQuestion,
} from '../facilitators/facilitator-http.ts'
import { RemoteFacilitator } from '../facilitators/remote-facilitator.ts'
import type { SvmPayment } from '../payment/signed-payment.ts'
import { isSignedBy } from './solana-key.ts'
import { SolanaRpc } from './solana-rpc.ts'
import { svmAccountProblem } from './svm-offer-problem.ts'
import { wireOf } from './svm-wire.ts'

export interface RemoteSvmFacilitatorOptions {
  /** With its path where it has one; https, or http on this machine. */
  url: string
  /** CAIP-2, of the network that it settles on. */
  network: string
  /** A node of that network: what has landed is never the facilitator's word. */
  rpcUrl: string
  /** What signs us in there; nothing where absent. */
  headers?: FacilitatorHeaders
  /** In place of those of the bounds. */
  answerMs?: Partial<Record<FacilitatorQuestion, number>>
}

const signatureBytes = 64

/** Asks nothing of the network until it is used. Throws a sentence where the address is not one to send payments to. */
export function openRemoteSvmFacilitator(options: RemoteSvmFacilitatorOptions): RemoteFacilitator<SvmPayment> {
  const { url, network, rpcUrl, headers = () => ({}) } = options
  const rpc = new SolanaRpc(rpcUrl)
  const http = new FacilitatorHttp({ url, headers, answerMs: { ...answerMs, ...options.answerMs } })
  return new RemoteFacilitator(http, {
    network,
    async signatureProblem({ payer, message, signature }) {
      const isSigned = isSignedBy(payer, Buffer.from(message, 'base64'), Buffer.from(signature, 'base64'))
      return isSigned ? null : 'invalid_signature'
    },
    // Whatever a client had put there, the place of the fee payer's signature is empty.
    payload: payment => ({ transaction: wireOf(new Uint8Array(signatureBytes), payment) }),
    isTransaction: id => decodeBase58(id, signatureBytes) !== null,
    async offerProblem(option, { extra }) {
      const offered = option.extra?.feePayer
      if (extra?.feePayer === offered) return svmAccountProblem(rpc, option)
      return `The facilitator pays fees from ${String(extra?.feePayer)} and not from ${String(offered)}; set feePayer to its account.`
    },
  })
}
