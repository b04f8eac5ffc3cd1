import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import { withSpan } from '#host/tracing/spans.ts'
import type { Outcome } from '../store/outcome.ts'
import type { Store } from '../store/store.ts'
import { StoreError } from '../store/store-error.ts'
import { LedgerWatch } from './ledger-watch.ts'

/** A store for everybody who writes, payments too: what sound books never answer makes them read-only, and is logged. */
export function watchedBooks(parts: { store: Store; clock: Clock; log: Log }): { store: Store; ledger: LedgerWatch } {
  const ledger = new LedgerWatch(parts)
  const store = watchedStore(parts.store, (reason, facts) => {
    // The commit that failed has a caller of its own, who does not wait for this.
    ledger
      .close(reason, facts)
      .catch(error => parts.log.error({ err: error }, 'The books could not be made read-only.'))
  })
  return { store, ledger }
}

/** The same store; tells of what sound books never answer. What the caller gets is the same. */
export function watchedStore(store: Store, onBroken: (reason: string, facts: object) => void): Store {
  return {
    read: store.read,
    soleOwner: store.soleOwner,
    clockDifferenceMs: async () => (await store.clockDifferenceMs?.()) ?? 0,
    prune: (slice, rows) => store.prune(slice, rows),
    close: () => store.close(),
    async commit(units) {
      const outcomes = await withSpan('commit', { 'farebox.units': units.length }, () => store.commit(units)).catch(
        error => {
          if (isBrokenRule(error))
            onBroken('A change of the books was refused by a rule of their tables.', { err: error })
          throw error
        },
      )
      for (const [index, outcome] of outcomes.entries())
        if (isImpossible(outcome)) onBroken('A charge was larger than its hold.', { unit: units[index]?.id })
      return outcomes
    },
  }
}

/** A unit checks before it writes, so a rule of a table that refuses it found rows that were not as the books left them. */
const isBrokenRule = (error: unknown): boolean => error instanceof StoreError && error.kind === 'broken_rule'

/** What is charged beyond a hold is written off before, by whoever knows how much is held. */
const isImpossible = (outcome: Outcome): boolean => !outcome.ok && outcome.why === 'over_hold'
