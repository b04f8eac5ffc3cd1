import type { Store } from './store.ts'
import type { EntryTable } from './tables.ts'

/** The sum of several entries of an account, in the position of one of them. */
export type FoldedEntry = Omit<EntryTable, 'seq' | 'effect'> & { seq: number }

/** Replaces all entries of an account in a range. */
export interface EntryFold {
  account: string
  firstSeq: number
  lastSeq: number
  /** The number of entries to replace. If it has changed by then, nothing is written. */
  count: number
  entries: readonly FoldedEntry[]
  /** The ledger is compacted up to this time. */
  beforeMs: number
}

export interface FoldingStore extends Store {
  /**
   * Replaces entries by their sums in one transaction. This is the only way in which entries are deleted. Rejects and
   * changes nothing if the sums differ for any kind or either side.
   */
  foldEntries(fold: EntryFold): Promise<void>
}
