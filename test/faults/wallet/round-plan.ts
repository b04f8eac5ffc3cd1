import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PolicySettings } from '#wallet/rules/policy.ts'
import { payTo } from '../../agent/pretend-service.ts'
import { seeded } from '../seeded.ts'
import type { Behaviour } from './behaviours.ts'
import { points } from './points.ts'
import { type Story, stories, storyAt } from './stories.ts'
import type { WorkOrder } from './work-order.ts'

export interface PlannedProcess extends Pick<WorkOrder, 'actions' | 'kill' | 'halts'> {
  /** A kill at no point, so long after its start. */
  killAfterMs: number | null
}

export interface PlannedWave {
  /** Of the clock, before it; `midnight` is a minute past the next one of UTC. */
  jumpMs: number | 'midnight'
  /** Which of the service's two addresses the wallet is for. */
  door: 0 | 1
  processes: readonly PlannedProcess[]
  /** The first process starts before the others, and this happens while it halts; null: all start at once. */
  whileFirstHalts: 'nothing' | 'the switch is thrown' | 'its turn runs out' | null
}

export interface RoundPlan {
  seed: number
  story: Story
  caps: Record<'maxPaymentUsd' | 'maxDayUsd' | 'maxTotalUsd' | 'askAboveUsd', number>
  cooldownMs: number
  /** How the first payment is treated; any way where it is empty. */
  first: readonly Behaviour[]
  waves: readonly PlannedWave[]
}

/** What one seed does: the same seed plans the same, whatever the machine makes of it. */
export function planRound(seed: number): RoundPlan {
  const draws = seeded(seed, 'round')
  const story = storyAt(seed)
  const point = points[seed % points.length] ?? ''
  const later = points[(seed * 7 + 3) % points.length] ?? ''
  return { seed, story, ...stories[story]({ seed, draws, point, later }) }
}

/** As an agent's owner would write it. */
export const policyOf = ({ caps, cooldownMs }: RoundPlan): Omit<PolicySettings, 'serviceUrl'> => ({
  maxPaymentUsd: `${caps.maxPaymentUsd}`,
  maxDayUsd: `${caps.maxDayUsd}`,
  maxTotalUsd: `${caps.maxTotalUsd}`,
  askAboveUsd: `${caps.askAboveUsd}`,
  payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo }],
  cooldownMs,
})
