import type { Clock } from '#contract/time.ts'

/** Milliseconds since 1970, by the database's own clock. */
export const databaseTimeText = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms'

/** The least by which a clock differs from the database's; `ask` answers what that shows. */
export async function clockDifference(clock: Clock, ask: () => Promise<number>): Promise<number> {
  const beforeMs = clock.now()
  const databaseMs = await ask()
  const afterMs = clock.now()
  // The database looked at some moment in between, so a slow answer is no difference.
  return Math.max(0, beforeMs - databaseMs, databaseMs - afterMs)
}
