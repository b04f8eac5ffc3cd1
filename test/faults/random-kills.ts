import { setTimeout as sleep } from 'node:timers/promises'
import * as bounds from './bounds.ts'
import type { KillPlan } from './kill-plan.ts'
import { everything, untilBusy } from './start-load.ts'

/** So many kills at any moment, each after enough was acknowledged. */
export function* randomKills(count: number): Generator<KillPlan> {
  for (let kill = 0; kill < count; kill++) yield randomKill
}

export const randomKill: KillPlan = {
  mix: everything,
  isArmed: false,
  async untilKill({ round, seeded }) {
    await untilBusy(round)
    round.budget.payments += bounds.budgetBeforeKill.payments
    round.budget.videos += bounds.budgetBeforeKill.videos
    await sleep(seeded.below(bounds.killWithinMs))
  },
}
