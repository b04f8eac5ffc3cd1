import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'
import type { Outcome, Unit } from './units.ts'

/** Where the service keeps everything that must survive. Two implementations, one contract. */
export interface Store {
  /** Resolves after the commit is durable, one outcome a unit in their order. Rejects only where the outcome is unknown. */
  commit(units: readonly Unit[]): Promise<Outcome[]>
  /** Reads only. Sees every unit that was acknowledged. */
  readonly read: Kysely<Tables>
  close(): Promise<void>
}
