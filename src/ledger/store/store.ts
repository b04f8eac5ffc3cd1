import type { Kysely } from 'kysely'
import type { Outcome } from './outcome.ts'
import type { Tables } from './tables.ts'
import type { Unit } from './units.ts'

/** Where the service keeps everything that must survive. Two implementations, one contract. */
export interface Store {
  /** Resolves after the commit is durable, one outcome a unit in their order. Rejects only where the outcome is unknown. */
  commit(units: readonly Unit[]): Promise<Outcome[]>
  /** Reads only. Sees every unit that was acknowledged. */
  readonly read: Kysely<Tables>
  /** Deletes at most `rows` rows of what is no longer needed; answers how many they were. See `prune.ts`. */
  prune(slice: PruneSlice, rows: number): Promise<number>
  /** True where no other process writes: then whoever else has a lease in it is dead, however long the lease still runs. */
  readonly soleOwner: boolean
  /**
   * By how much the clock of this process differs from the store's own, which every process can ask; at most
   * `mostClockDifferenceMs` when it opens. Absent where one process alone has it.
   */
  clockDifferenceMs?(): Promise<number>
  /** Refuses new work, finishes what has been taken, then frees the folder. */
  close(): Promise<void>
}

/** The oldest rows of one table, before a time or an id. Money is never pruned. */
export type PruneSlice =
  | { table: 'unit'; beforeId: string }
  | { table: 'nonce'; expiredBeforeMs: number }
  | { table: 'claim'; createdBeforeMs: number }
  | { table: 'limit_log'; createdBeforeMs: number; keepNewest: number }
