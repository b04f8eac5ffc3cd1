import { displayUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import { isOfChain } from '../chains/evm-end.ts'
import { isOfSolana } from '../chains/solana-end.ts'
import { tokenBalance } from '../chains/token-balance.ts'
import type { Decision } from '../rules/decide.ts'
import type { Rail } from '../terms/payee.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { Till } from './till.ts'

interface Wanted {
  rail: Rail
  amountMicroUsd: MicroUsd
}

/**
 * Refuses what the address that pays does not hold, before anything is signed, reserved or asked: such a payment could
 * only be refused by the service, and would stay reserved until nobody can collect it any more. Only a node that the
 * owner has named can tell; where none does, nothing is refused.
 */
export async function refuseWithoutFunds({ key, nodes }: Till, decision: Decision): Promise<void> {
  const wanted = wantedBy(decision)
  if (!wanted) return
  const { rail, amountMicroUsd } = wanted
  const held = await tokenBalance(nodes, rail, key.address)
  if (held === null || held >= amountMicroUsd || !(await isChainOf(nodes, rail))) return
  const amount = displayUsd(amountMicroUsd)
  throw new WalletRefusal({
    rule: 'funds',
    sentence: `The wallet holds ${displayUsd(microUsd(held))} in USDC on ${rail.network}, and this payment is ${amount}. Nothing was signed or reserved.`,
    nextStep: `Send at least ${displayUsd(microUsd(amountMicroUsd - held))} in USDC to ${key.address} on ${rail.network}, then try again.`,
    terms: { network: rail.network, asset: rail.asset, amountMicroUsd, leftMicroUsd: held },
  })
}

/** What is refused anyway is refused for that reason. */
function wantedBy(decision: Decision): Wanted | null {
  if (decision.kind === 'refused') return null
  if (decision.kind === 'allowed') return payable(decision)
  if (decision.onceAgreed) return payable(decision.onceAgreed)
  const { facts } = decision
  return facts.kind === 'payee' ? { rail: facts, amountMicroUsd: facts.amountMicroUsd } : null
}

const payable = ({
  chosen,
  amountMicroUsd,
}: NonNullable<Extract<Decision, { kind: 'asks' }>['onceAgreed']>): Wanted => ({
  rail: chosen.payee,
  amountMicroUsd,
})

/** A node of another chain holds other money. */
const isChainOf = async ({ eip155, solana }: Till['nodes'], { network }: Rail): Promise<boolean> => {
  const [url, isOf] = network.startsWith('solana:') ? [solana, isOfSolana] : [eip155, isOfChain]
  return url !== undefined && (await isOf(url, network).catch(() => false))
}
