import type { Clock } from '#contract/time.ts'
import { skewMs } from './fault-orders.ts'

export * from '#contract/time.ts'

/** The machine's time, moved by what the harness says. */
export const systemClock: Clock = { now: () => Date.now() + skewMs() }
