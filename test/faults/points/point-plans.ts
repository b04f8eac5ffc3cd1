import type { FaultOrder } from '../arm/fault-orders.ts'
import { newPaymentsOfAStart, pointMs } from '../bounds.ts'
import type { KillPlan, Life } from '../kill-plan.ts'
import { type Flow, flows, type StartFlow, startFlows } from './flows.ts'

/** How often each point of each flow was come by, and how often it was tried. */
export type Reached = Map<string, { reached: number; tried: number }>

export interface PointOptions {
  /** So often each. */
  times: number
  /** Only these, of all `flow: point`; all where absent. */
  only?: readonly string[]
}

/** A plan for each kill at a point of a flow, until each was come by so often, or was tried in vain too often. */
export function* pointPlans({ times, only }: PointOptions, reached: Reached): Generator<KillPlan> {
  const isWanted = (name: string) => !only || only.includes(name)
  const most = times + triesInVain
  for (const flow of flows) {
    for (const point of flow.points) {
      const name = `${flow.name}: ${point}`
      if (isWanted(name)) yield* plansOf(name, times, most, reached, told => servingPlan(flow, point, told))
    }
  }
  for (const flow of startFlows) {
    for (const point of flow.points) {
      const name = `${flow.name}: ${point}`
      if (isWanted(name)) yield* plansOf(name, times, most, reached, told => startingPlan(flow, point, told))
    }
  }
}

/** A point may be missed: another kill may have to come by a moment that only some lives have. */
const triesInVain = 6

/** Which of the passes is the last one; drawn from the first few, so that the books differ from kill to kill. */
const passes = 3

type Told = (died: boolean) => void

function* plansOf(
  name: string,
  times: number,
  most: number,
  reached: Reached,
  planOf: (told: Told) => KillPlan,
): Generator<KillPlan> {
  const count = { reached: 0, tried: 0 }
  reached.set(name, count)
  while (count.reached < times && count.tried < most) {
    count.tried++
    yield planOf(died => {
      if (died) count.reached++
    })
  }
}

const servingPlan = (flow: Flow, point: string, told: Told): KillPlan => ({
  mix: flow.mix,
  isArmed: true,
  mayComplain: flow.world !== undefined,
  async untilKill(life) {
    life.round.book.videosMayFail ||= flow.world?.failVideos ?? false
    told(await diesAt(life, point, flow.world))
  },
})

/** Whether it came by that point, at one of the first passes. */
async function diesAt({ server, round, seeded }: Life, point: string, world: FaultOrder = {}): Promise<boolean> {
  Object.assign(round.budget, pointBudget)
  server.order({ ...world, kill: { point, nth: 1 + seeded.below(passes) } })
  return server.diesWithin(pointMs)
}

/** A flow pays on one chain. */
const pointBudget = { payments: newPaymentsOfAStart, solanaPayments: newPaymentsOfAStart, videos: 6 }

const startingPlan = ({ mix, killedAt }: StartFlow, point: string, told: Told): KillPlan => ({
  mix,
  isArmed: true,
  untilKill: async life => void (await diesAt(life, killedAt)),
  nextStart: { kill: { point, nth: 1 } },
  onNextStart: told,
})
