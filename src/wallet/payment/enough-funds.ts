import { displayUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import { chainName } from '#contract/wire/networks.ts'
import { lookAtChain, type SeenOfChain } from '../chains/look-at-chain.ts'
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
 * only be refused by the service, and would stay reserved until nobody can collect it any more. Where no node answers,
 * nothing is refused. Returns what the chain was seen to say.
 */
export async function refuseWithoutFunds(
  { key, nodes }: Pick<Till, 'key' | 'nodes'>,
  decision: Decision,
): Promise<SeenOfChain | null> {
  const wanted = wantedBy(decision)
  if (!wanted) return null
  const { rail, amountMicroUsd } = wanted
  const seen = await lookAtChain(nodes, rail, key.address)
  const held = seen.balance
  if (held === null || held >= amountMicroUsd) return seen
  throw new WalletRefusal({
    rule: 'funds',
    sentence: `The wallet holds ${usdc(microUsd(held))} USDC.`,
    nextStep: `Send at least ${least(microUsd(amountMicroUsd - held))} to ${key.address} on ${chainName(rail.network)}.`,
    terms: { network: rail.network, asset: rail.asset, amountMicroUsd, leftMicroUsd: held },
  })
}

/** With its cents, and more places where it has them. */
const usdc = (amount: bigint): string => displayUsd(amount).replace(/ USD$/, '')

/** As a person types it. */
const least = (amount: bigint): string => usdc(amount).replace(/\.00$/, '')

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
