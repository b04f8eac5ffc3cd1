import { randomUUID } from 'node:crypto'
import type { SharedLimits } from '#access/limits/shared/shared-limits.ts'

/** Whether the counts come from the shared server; until a process reaches it, it admits only its share of a limit. */
export async function isShared({ windows }: Pick<SharedLimits, 'windows'>, nowMs: number): Promise<boolean> {
  const whole = { key: `probe:${randomUUID()}`, type: 'user', requestsPerMinute: 1_000 } as const
  const { states } = await windows.read([whole], nowMs)
  return states[0]?.remainingRequests === whole.requestsPerMinute
}
