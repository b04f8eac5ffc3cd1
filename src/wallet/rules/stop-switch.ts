import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { change, first, type Work } from '../records/records.ts'
import { resumeRefills } from '../records/refill-rows.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { stopped } from './decide.ts'

/** While a file of this name is in the data folder, nothing is signed and nothing is sent. */
export const stopFileName = 'stop'

/** Who switched the wallet off for all who share its records. */
export interface Stop {
  atMs: number
  by: string
}

/** Checks this folder's file and the shared row; part of every decision before signing or sending. */
export function* isStopped(folder: string): Work<boolean> {
  return existsSync(join(folder, stopFileName)) || (yield* stopOf()) !== null
}

export function* refuseWhenStopped(folder: string): Work<void> {
  if (yield* isStopped(folder)) throw new WalletRefusal(stopped)
}

export function* stopOf(): Work<Stop | null> {
  const row = yield* first('SELECT at_ms, by_whom FROM stops')
  return row ? { atMs: Number(row.at_ms), by: String(row.by_whom) } : null
}

/** The first one who stopped it stays named. */
export function* stop(by: string, nowMs: number): Work<void> {
  yield* change('INSERT INTO stops (one, at_ms, by_whom) VALUES (1, ?, ?) ON CONFLICT DO NOTHING', nowMs, by)
}

/** The user has checked, so refills resume too. */
export function* start(): Work<void> {
  yield* change('DELETE FROM stops')
  yield* resumeRefills()
}
