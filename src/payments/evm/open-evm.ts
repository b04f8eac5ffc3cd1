import type { Clock } from '#contract/time.ts'
import { rpcRetries, rpcTimeoutMs } from '../bounds.ts'
import type { Facilitator, OpenRail } from '../facilitators/rail.ts'
import {
  FacilitatorHttp,
  RemoteFacilitator,
  type RemoteFacilitatorOptions,
} from '../facilitators/remote-facilitator.ts'
import { EvmSignatures, offerProblem } from './evm-checks.ts'
import { isNonceUsed, openEvmPaymentChain } from './evm-payment-chain.ts'
import type { EvmPayment, EvmPaymentSettings } from './evm-rail.ts'
import { openLocalFacilitator } from './local-facilitator.ts'

/** Contacts no chain before it is used. Throws a sentence if it is not clear who settles. */
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
  throw new Error('Payments need a key or a remote facilitator; set either facilitatorKey or facilitator.')
}

export interface RemoteEvmFacilitatorOptions extends RemoteFacilitatorOptions {
  /** Accepts payments from contracts that check their own signatures (EIP-1271); false by default. */
  contractWallets?: boolean
}

/** Sends nothing to the network until it is used. Throws a sentence if the address is not suitable for payments. */
export async function openRemoteEvmFacilitator(
  options: RemoteEvmFacilitatorOptions,
): Promise<RemoteFacilitator<EvmPayment>> {
  const { network, rpcUrl, contractWallets = false } = options
  const http = new FacilitatorHttp(options)
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
    chainRefusal: async payment => ((await isNonceUsed(client, payment)) ? 'nonce_used' : null),
    offerProblem: option => offerProblem(client, option),
  })
}
