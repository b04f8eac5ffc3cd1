import { setTimeout as sleep } from 'node:timers/promises'
import * as bounds from './bounds.ts'
import type { KillPlan } from './kill-plan.ts'
import type { Round } from './round.ts'
import { everything, untilBusy } from './start-load.ts'

/** So many kills at any moment, each after enough was acknowledged. */
export function* randomKills(count: number): Generator<KillPlan> {
  for (let kill = 0; kill < count; kill++) yield randomKill
}

/** So that the kill meets some of each under way. */
export function giveMore({ budget }: Round): void {
  budget.payments += bounds.budgetBeforeKill.payments
  budget.solanaPayments += bounds.budgetBeforeKill.solanaPayments
  budget.videos += bounds.budgetBeforeKill.videos
}

export const randomKill: KillPlan = {
  mix: everything,
  isArmed: false,
  async untilKill({ round, seeded }) {
    await untilBusy(round)
    giveMore(round)
    await sleep(seeded.below(bounds.killWithinMs))
  },
}
