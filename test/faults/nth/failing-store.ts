import { type Store, StoreError } from '#ledger/store/store.ts'
import type { Unit } from '#ledger/store/units.ts'

/** How a commit goes wrong; a real writer does all of these. */
export const failures = ['full', 'full for good', 'answer lost', 'lost'] as const
export type Failure = (typeof failures)[number]

/** Counts commits, and lets the n-th of them fail. */
export class FailingStore {
  #commits = 0
  #nth = Number.POSITIVE_INFINITY
  #how: Failure = 'full'
  #failed = 0

  get failed(): number {
    return this.#failed
  }

  /** From now on. */
  fail(nth: number, how: Failure): void {
    this.#commits = 0
    this.#nth = nth
    this.#how = how
  }

  heal(): void {
    this.#nth = Number.POSITIVE_INFINITY
  }

  before(real: Store): Store {
    return new Proxy(real, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target)
        if (name === 'commit') return (units: readonly Unit[]) => this.#commit(target, units)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  async #commit(real: Store, units: readonly Unit[]) {
    const number = ++this.#commits
    const isDue = number === this.#nth || (number > this.#nth && this.#how === 'full for good')
    if (!isDue) return real.commit(units)
    this.#failed++
    if (this.#how === 'answer lost') await real.commit(units)
    throw this.#how === 'full' || this.#how === 'full for good' ? full() : unknown()
  }
}

const full = () =>
  new StoreError('unit_failed', 'The store could not apply a unit; nothing was written. See the cause.', {
    cause: 'database or disk is full',
  })

const unknown = () => new StoreError('outcome_unknown', 'The store lost its writer during a commit.')
