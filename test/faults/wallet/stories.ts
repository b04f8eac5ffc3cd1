import type { Seeded } from '../seeded.ts'
import { credits, losesAnswer, staysOpen } from './behaviours.ts'
import * as bounds from './bounds.ts'
import {
  type HaltPoint,
  needsDeadPlan,
  needsLostAnswer,
  pointsBeforeDecisions,
  pointsBetweenDecisions,
  pointsInDecisions,
} from './points.ts'
import type { PlannedProcess, PlannedWave, RoundPlan } from './round-plan.ts'
import type { Action, WorkOrder } from './work-order.ts'

/** What a round is about. */
export const storyNames = [
  'kills',
  'a meeting',
  'two services',
  'switched off',
  'a turn that ran out',
  'the user asked',
  'past midnight',
] as const
export type Story = (typeof storyNames)[number]

/** Where a seed stands among ten; so many share no divisor with the points. */
const order: readonly Story[] = [
  ...(['kills', 'a meeting', 'kills', 'two services', 'kills'] as const),
  ...(['switched off', 'a turn that ran out', 'kills', 'the user asked', 'past midnight'] as const),
]
export const storyAt = (seed: number): Story => order[seed % order.length] ?? 'kills'

interface Told {
  seed: number
  draws: Seeded
  /** Two points at which processes of the round are killed. */
  point: string
  later: string
}

type Plot = Omit<RoundPlan, 'seed' | 'story'>

/** One story each; what is not said in it is drawn. */
export const stories: Readonly<Record<Story, (told: Told) => Plot>> = {
  kills({ draws, point, later }) {
    const isOfDeadPlan = needsDeadPlan(point)
    const count = isOfDeadPlan ? 2 : drawCount(draws)
    const first = needsLostAnswer(point) ? losesAnswer : (draws.pick([credits, staysOpen, []]) ?? [])
    // A process dies while it plans, and the next one dies while it drops that plan.
    const ofDeadPlan = [
      [process(draws, armed('after planned'))],
      [process(draws, armed(point)), process(draws, armed(point))],
    ]
    const ofPoint = [others(draws, count, armed(point)), others(draws, count, draws.once(2) ? armed(later) : null)]
    const [before = [], after = []] = isOfDeadPlan ? ofDeadPlan : ofPoint
    const [still, ...jumps] = bounds.jumpsMs
    const waves = [wave(before), wave(after, draws.pick(jumps) ?? still)]
    return { caps: drawCaps(draws), cooldownMs: drawCooldown(draws), first, waves }
  },

  /** One halts, and all others come to where they would meet it if they did not wait for their turn. */
  'a meeting'({ seed, draws, point }) {
    const at = haltAt([...pointsBetweenDecisions, ...pointsInDecisions], seed)
    const first = at === 'after unknown' ? losesAnswer : draws.once(2) ? credits : []
    const before = { ...wave(meeting(draws, at)), whileFirstHalts: 'nothing' } as const
    // Mostly room for two payments, so that nothing but the turn keeps a second one away; else room for one alone.
    const caps = draws.once(4) ? tightCaps(draws) : roomyCaps(draws)
    return { caps, cooldownMs: drawCooldown(draws), first, waves: [before, killedLater(draws, point)] }
  },

  /** What is open at one service counts when another one is paid. */
  'two services'({ draws, point }) {
    const before = [process(draws, null), ...(draws.once(2) ? [process(draws, armed(point))] : [])]
    const after = wave(others(draws, drawCount(draws), null).map(paysAtOnce))
    const waves = [wave(before.map(paysAtOnce)), { ...after, door: 1 } as const]
    return { caps: tightCaps(draws), cooldownMs: drawCooldown(draws), first: staysOpen, waves }
  },

  'switched off'({ seed, draws, point }) {
    const at = pick(pointsBeforeDecisions, Math.floor(seed / order.length))
    const first = at === 'after unknown' ? losesAnswer : []
    const before = { ...wave(meeting(draws, at)), whileFirstHalts: 'the switch is thrown' } as const
    return {
      caps: roomyCaps(draws),
      cooldownMs: drawCooldown(draws),
      first,
      waves: [before, killedLater(draws, point)],
    }
  },

  /** As after a laptop's sleep: another one has the turn, and the first one goes on as if nothing had been. */
  'a turn that ran out'({ seed, draws, point }) {
    const at = haltAt(pointsBetweenDecisions, seed)
    const first = at === 'after unknown' ? losesAnswer : draws.once(2) ? credits : []
    const before = { ...wave(meeting(draws, at)), whileFirstHalts: 'its turn runs out' } as const
    return {
      caps: roomyCaps(draws),
      cooldownMs: drawCooldown(draws),
      first,
      waves: [before, killedLater(draws, point)],
    }
  },

  /** Every process asks, the user approves once between the waves, and all try again. */
  'the user asked'({ draws, point }) {
    const asks = (kill: WorkOrder['kill']) => ({ ...process(draws, kill), actions: [above, ...drawActions(draws)] })
    const before = Array.from({ length: bounds.leastProcesses }, () => ({ ...process(draws, null), actions: [above] }))
    const after = [asks(draws.once(2) ? armed(point) : null), asks(null), ...others(draws, 1, null)]
    // Room for several of them, so that nothing but the one yes keeps a second one away.
    const caps = { maxPaymentUsd: 7, maxDayUsd: 20, maxTotalUsd: 20, askAboveUsd: bounds.askAboveUsd }
    const jumpMs = draws.pick([0, bounds.cooldownMs + 1_000]) ?? 0
    return { caps, cooldownMs: drawCooldown(draws), first: credits, waves: [wave(before), wave(after, jumpMs)] }
  },

  'past midnight'({ draws, point }) {
    const before = wave([process(draws, null), process(draws, draws.once(2) ? armed(point) : null)].map(paysAtOnce))
    const after = wave(others(draws, drawCount(draws), null).map(paysAtOnce), 'midnight')
    const caps = { ...roomyCaps(draws), maxDayUsd: 5, maxTotalUsd: 20 }
    return { caps, cooldownMs: drawCooldown(draws), first: credits, waves: [before, after] }
  },
}

const wave = (processes: readonly PlannedProcess[], jumpMs: PlannedWave['jumpMs'] = 0): PlannedWave => ({
  jumpMs,
  door: 0,
  processes,
  whileFirstHalts: null,
})

/** What a story leaves behind is found by others, one of whom is killed. */
function killedLater(draws: Seeded, point: string): PlannedWave {
  const jumpMs = draws.pick(bounds.jumpsMs) ?? 0
  return wave(others(draws, drawCount(draws), armed(point)), jumpMs)
}

/** The first one halts at its point; the others do so where they would be in its way. */
function meeting(draws: Seeded, at: HaltPoint): PlannedProcess[] {
  const [first, ...rest] = Array.from({ length: drawCount(draws) }, () => ({
    ...process(draws, null),
    killAfterMs: null,
  }))
  const inTheWay = (): HaltPoint[] => [
    draws.pick(['after planned', 'after signed', 'after sent'] as const) ?? 'after planned',
  ]
  return [
    ...(first ? [{ ...paysAtOnce(first), halts: [at] }] : []),
    ...rest.map(each => ({ ...paysAtOnce(each), halts: inTheWay() })),
  ]
}

/** Every second time where only the turn keeps others from planning too, else one point after the other. */
function haltAt(all: readonly HaltPoint[], seed: number): HaltPoint {
  const time = Math.floor(seed / order.length)
  return time % 2 === 0 ? 'before planning' : pick(all, Math.floor(time / 2))
}

const armed = (kill: string): WorkOrder['kill'] => ({ point: kill, nth: 1 })

const pick = <Value extends string>(all: readonly [Value, ...Value[]] | readonly Value[], at: number): Value =>
  all[at % all.length] as Value

/** Low enough that a round comes up against them, now against the one and now against the other. */
const drawCaps = (draws: Seeded): RoundPlan['caps'] => ({
  maxPaymentUsd: 5 + draws.below(3),
  maxDayUsd: 5 + 5 * draws.below(3),
  maxTotalUsd: 5 + 5 * draws.below(4),
  askAboveUsd: neverAsks,
})

/** For one payment and for no second one: by the day or by the total. */
function tightCaps(draws: Seeded): RoundPlan['caps'] {
  const [one, several] = [5 + draws.below(5), 20]
  const [maxDayUsd, maxTotalUsd] = draws.once(2) ? [one, several] : [several, one]
  return { ...drawCaps(draws), maxDayUsd, maxTotalUsd }
}

/** For two payments at least. */
const roomyCaps = (draws: Seeded): RoundPlan['caps'] => ({
  ...drawCaps(draws),
  maxDayUsd: 10 + 5 * draws.below(2),
  maxTotalUsd: 15 + 5 * draws.below(2),
})

const neverAsks = 1_000

const drawCooldown = (draws: Seeded): number => (draws.once(2) ? bounds.cooldownMs : 0)

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
  const drawn = drawActions(draws)
  const killAfterMs = kill === null && draws.once(4) ? draws.below(bounds.randomKillMs) : null
  return { actions: kill ? [smallest, ...drawn] : drawn, kill, killAfterMs, halts: [] }
}

const smallest: Action = { kind: 'topUp', usd: 5, again: true }
const above: Action = { kind: 'topUp', usd: bounds.askAboveUsd + 1, again: true }

const paysAtOnce = (each: PlannedProcess): PlannedProcess => ({ ...each, actions: [smallest, ...each.actions] })

const drawActions = (draws: Seeded): Action[] =>
  Array.from({ length: 1 + draws.below(bounds.mostActions) }, () => drawAction(draws))

const drawAction = (draws: Seeded): Action =>
  draws.once(3) ? { kind: 'topUp', usd: 5 + draws.below(3), again: !draws.once(3) } : { kind: 'call' }
