import type { Store } from './store.ts'
import type { EntryTable } from './tables.ts'

/** An entry as a ledger that was compacted has it: the sum of several of an account, in the place of one of them. */
export type FoldedEntry = Omit<EntryTable, 'seq' | 'effect'> & { seq: number }

/** What takes the place of all entries of an account from one of them to another. */
export interface EntryFold {
  account: string
  firstSeq: number
  lastSeq: number
  /** How many entries go; where there are others by now, nothing changes. */
  count: number
  entries: readonly FoldedEntry[]
  /** Up to which time the ledger is compacted. */
  beforeMs: number
}

/** A store whose old entries can be folded. */
export interface FoldingStore extends Store {
  /**
   * Replaces entries by their sums in one transaction; the only way in which an entry is ever deleted. Rejects, and changes
   * nothing, where what goes and what comes do not add up to the same, for each kind and both sides.
   */
  foldEntries(fold: EntryFold): Promise<void>
}
