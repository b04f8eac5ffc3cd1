import { evmNetwork, usdcOnEvm } from '#contract/payment.ts'
import type { PolicySettings } from '#wallet/policy.ts'
import { payTo } from '../../agent/pretend-service.ts'
import { type Seeded, seeded } from '../seeded.ts'
import { type Behaviour, credits, losesAnswer } from './behaviours.ts'
import * as bounds from './bounds.ts'
import { needsDeadPlan, needsLostAnswer, points } from './points.ts'
import type { Action, WorkOrder } from './told.ts'

export interface PlannedProcess extends Pick<WorkOrder, 'actions' | 'kill'> {
  /** A kill at no point, so long after its start. */
  killAfterMs: number | null
}

export interface RoundPlan {
  seed: number
  caps: Record<'maxPaymentUsd' | 'maxDayUsd' | 'maxTotalUsd', number>
  cooldownMs: number
  /** How the first payment is treated; any way where it is empty. */
  first: readonly Behaviour[]
  waves: readonly { jumpMs: number; processes: readonly PlannedProcess[] }[]
}

/** What one seed does: the same seed plans the same, whatever the machine makes of it. */
export function planRound(seed: number): RoundPlan {
  const draws = seeded(seed, 'round')
  const point = points[seed % points.length] ?? ''
  const later = points[(seed * 7 + 3) % points.length] ?? ''
  const isOfDeadPlan = needsDeadPlan(point)
  const count = isOfDeadPlan ? 2 : drawCount(draws)
  // Low enough that a round comes up against them, now against the one and now against the other.
  const [maxDayUsd, maxTotalUsd] = [5 + 5 * draws.below(3), 5 + 5 * draws.below(4)]
  const [still, ...jumps] = bounds.jumpsMs
  const first = needsLostAnswer(point) ? losesAnswer : draws.once(2) ? credits : []
  const armed = (kill: string): WorkOrder['kill'] => ({ point: kill, nth: 1 })
  // Whoever dies over a plan leaves it to the next one, who dies while dropping it.
  const ofDeadPlan = [
    [process(draws, armed('after planned'))],
    [process(draws, armed(point)), process(draws, armed(point))],
  ]
  const ofPoint = [others(draws, count, armed(point)), others(draws, count, draws.once(2) ? armed(later) : null)]
  const [before = [], after = []] = isOfDeadPlan ? ofDeadPlan : ofPoint
  return {
    seed,
    caps: { maxPaymentUsd: 5 + draws.below(3), maxDayUsd, maxTotalUsd },
    cooldownMs: draws.once(2) ? 60_000 : 0,
    first,
    waves: [
      { jumpMs: still, processes: before },
      { jumpMs: draws.pick(jumps) ?? still, processes: after },
    ],
  }
}

/** Two mostly; the more there are, the longer all of them take. */
function drawCount(draws: Seeded): number {
  if (!draws.once(3)) return bounds.leastProcesses
  return bounds.leastProcesses + draws.below(bounds.mostProcesses - bounds.leastProcesses + 1)
}

const others = (draws: Seeded, count: number, kill: WorkOrder['kill']): PlannedProcess[] => [
  process(draws, kill),
  ...Array.from({ length: count - 1 }, () => process(draws, null)),
]

/** One that is to be killed at a point pays at once, whatever others have paid for. */
function process(draws: Seeded, kill: WorkOrder['kill']): PlannedProcess {
  const drawn = Array.from({ length: 1 + draws.below(bounds.mostActions) }, () => drawAction(draws))
  const killAfterMs = kill === null && draws.once(4) ? draws.below(bounds.randomKillMs) : null
  return { actions: kill ? [{ kind: 'topUp', usd: 5, again: true }, ...drawn] : drawn, kill, killAfterMs }
}

const drawAction = (draws: Seeded): Action =>
  draws.once(3) ? { kind: 'topUp', usd: 5 + draws.below(3), again: !draws.once(3) } : { kind: 'call' }

/** As an agent's owner would write it. */
export const policyOf = ({ caps, cooldownMs }: RoundPlan): Omit<PolicySettings, 'serviceUrl'> => ({
  maxPaymentUsd: `${caps.maxPaymentUsd}`,
  maxDayUsd: `${caps.maxDayUsd}`,
  maxTotalUsd: `${caps.maxTotalUsd}`,
  askAboveUsd: '1000',
  payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo }],
  cooldownMs,
})
