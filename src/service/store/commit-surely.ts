import { setTimeout as sleep } from 'node:timers/promises'
import { surelyAttempts, surelyRetryMs } from './bounds.ts'
import type { Store } from './store.ts'
import type { Outcome, Unit } from './units.ts'

/** Repeats a unit whose outcome stayed unknown: its id makes the repeat return the first outcome. */
export async function commitSurely(store: Store, unit: Unit): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [outcome] = await store.commit([unit])
      if (outcome) return outcome
      throw new Error('The store answered without an outcome.')
    } catch (error) {
      if (attempt >= surelyAttempts) throw error
      await sleep(surelyRetryMs * attempt)
    }
  }
}
