import type { FaultOrder } from './arm/fault-orders.ts'
import type { Round } from './round.ts'
import type { Seeded } from './seeded.ts'
import type { ServerProcess } from './server-process.ts'
import type { Mix } from './start-load.ts'

/** One run of the server: its load, and how it ends. */
export interface KillPlan {
  mix: Mix
  /** Whether answers may be missing from the start on, and not only once the round is over. */
  isArmed: boolean
  /** Which of two services is killed; the first where absent. */
  victim?: 'server' | 'sibling'
  /** Whether the store may be away, so that an answer of 500 or above is no surprise and may have cost something. */
  mayFail?: boolean
  /** Returns when the victim is dead, or has to be killed because it is time. */
  untilKill(life: Life): Promise<void>
  /** Whether the server may log what it meets; otherwise anything it writes is a failure. */
  mayComplain?: boolean
  /** What the next start is told first, where that start is to die as well. */
  nextStart?: FaultOrder
  /** After that start: whether it came by what it was told. */
  onNextStart?(died: boolean): void
}

export interface Life {
  server: ServerProcess
  /** The other service on the same database, where there are two. */
  sibling: ServerProcess | null
  /** Whether it answers a paid call within some time, from a caller that is not blocked. */
  isAnswered(service: ServerProcess): Promise<boolean>
  round: Round
  seeded: Seeded
}
