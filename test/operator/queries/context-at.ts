import type { Clock } from '#contract/time.ts'
import { silentLog } from '#host/log.ts'
import { LedgerWatch } from '#ledger/ledger-watch.ts'
import type { Store } from '#ledger/store/store.ts'
import type { OperatorContext } from '#operator/queries/operator-context.ts'

/** What operators' operations need on a store, at the time that a test sets. */
export function contextAt(store: Store, now: Clock['now']): OperatorContext {
  const clock = { now }
  return { store, clock, ledger: new LedgerWatch({ store, clock, log: silentLog }) }
}
