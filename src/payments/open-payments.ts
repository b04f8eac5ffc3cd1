import { randomUUID } from 'node:crypto'
import type { Clock } from '#contract/time.ts'
import { solanaNetwork } from '#contract/wire/networks.ts'
import { feesPerHourLamports } from './bounds.ts'
import { openEvmPaymentChain } from './evm/evm-payment-chain.ts'
import { openLocalFacilitator } from './evm/local-facilitator.ts'
import { openRemoteEvmFacilitator } from './evm/remote-evm-facilitator.ts'
import type { Facilitator } from './facilitators/facilitator.ts'
import { FeeBudget } from './facilitators/fee-budget.ts'
import type { EvmPayment, SvmPayment } from './payment/signed-payment.ts'
import { RailChains, RailFacilitators } from './payment-rails.ts'
import type { PaymentSettings, SolanaPaymentSettings } from './payment-settings.ts'
import { LocalSvmFacilitator } from './solana/local-svm-facilitator.ts'
import { openRemoteSvmFacilitator } from './solana/remote-svm-facilitator.ts'
import { SolanaKey } from './solana/solana-key.ts'
import { SvmPaymentChain } from './solana/svm-payment-chain.ts'
import { TopUps, type TopUpsOptions } from './top-ups/top-up.ts'

/** Takes payments on the rails that are set, and finishes what a crash left. Asks no chain before it is used. */
export async function openPayments(
  payments: PaymentSettings,
  parts: Pick<TopUpsOptions, 'settings' | 'store' | 'clock' | 'log'>,
): Promise<TopUps> {
  const { rpcUrl, confirmations } = payments
  const [evmChain, evmFacilitator] = await Promise.all([
    openEvmPaymentChain({ rpcUrl, confirmations }),
    openEvmFacilitator(payments, parts.clock),
  ])
  const svm = payments.solana && openSolana(payments.solana, parts.clock)
  const chain = new RailChains({ evm: evmChain, svm: svm?.chain })
  const facilitator = new RailFacilitators({ evm: evmFacilitator, svm: svm?.facilitator })
  const topUps = new TopUps({ ...parts, chain, facilitator, owner: randomUUID() })
  await topUps.start()
  return topUps
}

/** Throws a sentence where it is not clear who settles. */
function openEvmFacilitator(payments: PaymentSettings, clock: Clock): Promise<Facilitator<EvmPayment>> {
  const {
    options,
    rpcUrl,
    facilitatorKey: key,
    facilitator: remote,
    contractWallets = false,
    feesPerHourWei,
  } = payments
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

function openSolana({ rpcUrl, commitment, feePayerKey, facilitator: remote }: SolanaPaymentSettings, clock: Clock) {
  const feePayer = feePayerKey ? new SolanaKey(feePayerKey) : null
  return {
    chain: new SvmPaymentChain({ rpcUrl, commitment, feePayer }),
    facilitator: openSvmFacilitator({ rpcUrl, feePayer, remote, clock }),
  }
}

function openSvmFacilitator({ rpcUrl, feePayer, remote, clock }: SvmParts): Facilitator<SvmPayment> {
  if (remote) return openRemoteSvmFacilitator({ ...remote, network: solanaNetwork, rpcUrl })
  if (!feePayer) throw new Error('Payments on Solana have nobody who settles them.')
  const fees = new FeeBudget({ perHour: feesPerHourLamports, clock })
  return new LocalSvmFacilitator({ network: solanaNetwork, rpcUrl, feePayer, fees })
}

interface SvmParts {
  rpcUrl: string
  feePayer: SolanaKey | null
  remote: SolanaPaymentSettings['facilitator']
  clock: Clock
}
