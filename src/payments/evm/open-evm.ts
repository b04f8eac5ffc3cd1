import type { Clock } from '#contract/time.ts'
import { rpcRetries, rpcTimeoutMs } from '../bounds.ts'
import type { Facilitator, OpenRail } from '../facilitators/rail.ts'
import {
  answerMs,
  type FacilitatorHeaders,
  FacilitatorHttp,
  type FacilitatorQuestion,
  RemoteFacilitator,
} from '../facilitators/remote-facilitator.ts'
import { EvmSignatures, offerProblem } from './evm-checks.ts'
import { openEvmPaymentChain } from './evm-payment-chain.ts'
import type { EvmPayment, EvmPaymentSettings } from './evm-rail.ts'
import { openLocalFacilitator } from './local-facilitator.ts'

/** Asks no chain before it is used. Throws a sentence when it is not clear who settles. */
export async function openEvm(settings: EvmPaymentSettings, clock: Clock): Promise<OpenRail<EvmPayment>> {
  const { rpcUrl, confirmations } = settings
  const [chain, facilitator] = await Promise.all([
    openEvmPaymentChain({ rpcUrl, confirmations }),
    openFacilitator(settings, clock),
  ])
  return { chain, facilitator }
}

function openFacilitator(settings: EvmPaymentSettings, clock: Clock): Promise<Facilitator<EvmPayment>> {
  const {
    options,
    rpcUrl,
    facilitatorKey: key,
    facilitator: remote,
    contractWallets = false,
    feesPerHourWei,
  } = settings
  const { network } = options[0]
  if (key && !remote) {
    const fees = feesPerHourWei === undefined ? {} : { feesPerHourWei }
    return openLocalFacilitator({ network, rpcUrl, key, contractWallets, clock, ...fees })
  }
  if (remote && !key) return openRemoteEvmFacilitator({ ...remote, network, rpcUrl, contractWallets })
  throw new Error(
    'Payments are settled by a key or by a remote facilitator; set one of facilitatorKey and facilitator.',
  )
}

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
