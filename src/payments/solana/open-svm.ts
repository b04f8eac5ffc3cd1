import type { Clock } from '#contract/time.ts'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { paysFrom } from '#contract/wire/facilitator.ts'
import { solanaNetwork } from '#contract/wire/networks.ts'
import { feesPerHourLamports } from '../bounds.ts'
import { FeeBudget } from '../facilitators/fee-budget.ts'
import type { OpenRail } from '../facilitators/rail.ts'
import {
  FacilitatorHttp,
  RemoteFacilitator,
  type RemoteFacilitatorOptions,
} from '../facilitators/remote-facilitator.ts'
import { LocalSvmFacilitator, svmAccountProblem } from './local-svm-facilitator.ts'
import { isSignedBy, SolanaKey } from './solana-key.ts'
import { signatureBytes, wireOf } from './solana-message.ts'
import { SolanaRpc } from './solana-node.ts'
import { SvmDrafts } from './svm-draft.ts'
import { SvmPaymentChain } from './svm-payment-chain.ts'
import type { SolanaPaymentSettings, SvmPayment } from './svm-rail.ts'
import { simulatedRefusal } from './svm-refusal.ts'

/** Sends nothing to the network until it is used. Throws a sentence if it is not clear who settles. */
export function openSvm(settings: SolanaPaymentSettings, clock: Clock): OpenRail<SvmPayment> {
  const { rpcUrl, commitment, feePayerKey, facilitator: remote } = settings
  const feePayer = feePayerKey ? new SolanaKey(feePayerKey) : null
  const chain = new SvmPaymentChain({ rpcUrl, commitment, feePayer })
  const drafts = new SvmDrafts(new SolanaRpc(rpcUrl), clock)
  if (remote) {
    return { chain, drafts, facilitator: openRemoteSvmFacilitator({ ...remote, network: solanaNetwork, rpcUrl }) }
  }
  if (!feePayer)
    throw new Error('Payments on Solana need a key or a remote facilitator; set either feePayerKey or facilitator.')
  const fees = new FeeBudget({ perHour: feesPerHourLamports, clock })
  return { chain, drafts, facilitator: new LocalSvmFacilitator({ network: solanaNetwork, rpcUrl, feePayer, fees }) }
}

/** Sends nothing to the network until it is used. Throws a sentence if the address is not suitable for payments. */
export function openRemoteSvmFacilitator(options: RemoteFacilitatorOptions): RemoteFacilitator<SvmPayment> {
  const { network, rpcUrl } = options
  const rpc = new SolanaRpc(rpcUrl)
  const http = new FacilitatorHttp(options)
  return new RemoteFacilitator(http, {
    network,
    async signatureProblem({ payer, message, signature }) {
      const isSigned = isSignedBy(payer, Buffer.from(message, 'base64'), Buffer.from(signature, 'base64'))
      return isSigned ? null : 'invalid_signature'
    },
    // The fee payer's signature is left empty, whatever the client put there.
    payload: payment => ({ transaction: wireOf(new Uint8Array(signatureBytes), payment) }),
    isTransaction: id => decodeBase58(id, signatureBytes) !== null,
    async chainRefusal(payment) {
      const refusal = await simulatedRefusal(rpc, payment)
      // An expired transaction is in no status cache any more, and looking for it would take hundreds of requests.
      return refusal?.by === 'payment' && refusal.reason !== 'expired' ? refusal.reason : null
    },
    async offerProblem(option, kind) {
      const offered = option.extra?.feePayer
      if (paysFrom(kind, offered)) return svmAccountProblem(rpc, option)
      return `The facilitator pays fees from ${String(kind.extra?.feePayer)} and not from ${String(offered)}; set feePayer to its account.`
    },
  })
}
