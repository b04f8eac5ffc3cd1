import { setTimeout as sleep } from 'node:timers/promises'
import { surelyAttempts, surelyRetryMs } from './bounds.ts'
import type { Outcome } from './outcome.ts'
import type { Store } from './store.ts'
import { StoreError } from './store-error.ts'
import type { Unit } from './units.ts'

/**
 * Repeats a unit whose outcome stayed unknown: its id makes the repeat return the first outcome. Throws the first error
 * after which the unit may stand, because a later one, of a store that is away, does not take that back.
 */
export async function commitSurely(store: Pick<Store, 'commit'>, unit: Unit): Promise<Outcome> {
  let unknown: unknown = null
  for (let attempt = 1; ; attempt++) {
    try {
      const [outcome] = await store.commit([unit])
      if (outcome) return outcome
      throw new Error('The store answered without an outcome.')
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'outcome_unknown') unknown ??= error
      if (attempt >= surelyAttempts) throw unknown ?? error
      await sleep(surelyRetryMs * attempt)
    }
  }
}
