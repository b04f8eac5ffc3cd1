import type { ConfirmedSend } from '#agent/wallet/send-from-wallet.ts'
import { systemClock } from '#contract/time.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { Settlement } from '#payments/facilitators/rail.ts'
import type { ReceivedPayment } from '#payments/payment/payment.ts'
import { CliError } from '../command.ts'
import { localEvm, localSolana } from '../data/local-chains.ts'

type Settler = NonNullable<ConfirmedSend['settler']>

/** Settles on the local chains of `farebox up`, with the keys and the code with which its service settles top-ups. */
export const settlerOfUp = (dataDir: string): Settler => ({
  name: 'local chain',
  shown: 'the facilitator of the local chain',
  async feePayerOn(network) {
    if (!network.startsWith('solana:')) return null
    const { loadLocalSolanaKeys } = await import('#local/keys.ts')
    return (await loadLocalSolanaKeys(dataDir)).feePayer.address
  },
  async settle({ accepted, payload }, option) {
    const { scheme, network, amount, asset, payTo } = accepted
    const received = { scheme, network, accepted: { amount, asset, payTo }, payload }
    const settle = network.startsWith('solana:') ? settleOnSolana : settleOnEvm
    return settle(dataDir, received, option).then(answerOf, () => ({ kind: 'unknown', reason: 'no answer' }))
  },
})

async function settleOnEvm(dataDir: string, received: ReceivedPayment, option: PaymentOption): Promise<Settlement> {
  const [{ openLocalFacilitator }, { evmRail }, { loadLocalKeys }] = await Promise.all([
    import('#payments/evm/local-facilitator.ts'),
    import('#payments/evm/evm-rail.ts'),
    import('#local/keys.ts'),
  ])
  const [rpcUrl, keys] = await Promise.all([localEvm(dataDir), loadLocalKeys(dataDir)])
  if (rpcUrl === null) throw noChain()
  const key = keys.facilitator.privateKey
  const facilitator = await openLocalFacilitator({ network: option.network, rpcUrl, key })
  return facilitator.settle(evmRail.decode(received, option))
}

async function settleOnSolana(dataDir: string, received: ReceivedPayment, option: PaymentOption): Promise<Settlement> {
  const [{ openSvm }, { svmRail }, { loadLocalSolanaKeys }] = await Promise.all([
    import('#payments/solana/open-svm.ts'),
    import('#payments/solana/svm-rail.ts'),
    import('#local/keys.ts'),
  ])
  const [rpcUrl, { feePayer }] = await Promise.all([localSolana(dataDir), loadLocalSolanaKeys(dataDir)])
  if (rpcUrl === null) throw noChain()
  const settings = { payTo: option.payTo, rpcUrl, commitment: 'finalized', feePayerKey: feePayer.secretKey } as const
  return openSvm(settings, systemClock).facilitator.settle(svmRail.decode(received, option))
}

const noChain = (): CliError => new CliError('The local chain is not running.', 'Start it with `farebox up`.')

function answerOf(settled: Settlement): Awaited<ReturnType<Settler['settle']>> {
  if (settled.state === 'settled' || settled.state === 'sent')
    return { kind: 'settled', transaction: settled.transaction }
  return { kind: 'refused', reason: settled.state === 'refused' ? settled.reason : settled.state }
}
