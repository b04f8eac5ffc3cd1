import { StoreError, type StoreFailure } from './store-error.ts'

const awayKinds: ReadonlySet<StoreFailure> = new Set([
  ...(['outcome_unknown', 'unreachable', 'queue_full', 'writer_dead', 'closed'] as const),
])

/** SQLite's primary codes of a file or disk that cannot be had: busy, locked, no memory, read-only, input or output, full, not opened. */
const awayCodes: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 13, 14])

/** Characters of a driver's words that a log repeats. */
const reasonCharacters = 200

/** Why the books could not be asked or written, where that is what an error says: in the words of whoever noticed. Null otherwise. */
export function awayReason(error: unknown): string | null {
  const isAway = error instanceof StoreError ? awayKinds.has(error.kind) : isAwayOfSqlite(error)
  return isAway ? deepest(error).slice(0, reasonCharacters) : null
}

/** Whether the file or the disk, and not a statement, made SQLite fail. */
export const isAwayOfSqlite = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  awayCodes.has(error.errcode & 0xff)

/** Whether another connection held the file for longer than a statement waits; none of ours does. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === 5

/** Drivers tell of a refused connection in the cause, at times in a list of them without words of its own. */
function deepest(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined) return deepest(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return deepest(error.errors[0])
  return error.message
}
