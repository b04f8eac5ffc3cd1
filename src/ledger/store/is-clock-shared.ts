import { mostClockDifferenceMs } from './bounds.ts'
import type { Store } from './store.ts'

/** Whether leases of other processes may be judged by this one's clock, which may have jumped since they were written. */
export const isClockShared = async (store: Store): Promise<boolean> =>
  ((await store.clockDifferenceMs?.()) ?? 0) <= mostClockDifferenceMs
