import { sendTimeoutMs as shortTimeoutMs } from '../bounds.ts'

export * from '#wallet/limits.ts'

// The same waits, only shorter: a round is to take a second.
export const sendTimeoutMs = shortTimeoutMs
export const sendPausesMs = [5, 20] as const
export const pendingPausesMs = [20, 30, 50, 50, 50, 50, 50] as const
export const leasePollMs = 20
