import type { MicroUsd } from '#contract/money.ts'
import { signExactPayment } from '../chains/evm-exact.ts'
import { latestBlockhash, signSvmPayment } from '../chains/svm-exact.ts'
import type { ChosenOption } from '../terms/chosen-option.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { SignedPayment } from '../terms/signed-payment.ts'
import type { Till } from './till.ts'

/** Signs one payment as it was planned; asks nobody any more. */
export type Sign = (chosen: ChosenOption, amountMicroUsd: MicroUsd, nowMs: number) => Promise<SignedPayment>

/** Asks beforehand what the key's chain has to say, so that nothing can fail between the plan of a payment and its signature. */
export async function signerOf({ key, nodes }: Pick<Till, 'key' | 'nodes'>): Promise<Sign> {
  if (key.namespace === 'eip155') return (chosen, amount, nowMs) => signExactPayment(key, chosen, amount, nowMs)
  const lifetime = await latestBlockhash(nodes.solana ?? noNode())
  return (chosen, amount, nowMs) => signSvmPayment(key, chosen, amount, lifetime, nowMs)
}

function noNode(): never {
  throw new WalletRefusal({
    rule: 'node',
    sentence: 'A payment on Solana needs a node of that chain, and none is named.',
    nextStep: 'Nothing was signed; the person can set FAREBOX_SOLANA_RPC_URL.',
  })
}
