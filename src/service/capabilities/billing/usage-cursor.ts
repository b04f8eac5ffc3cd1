import { fieldError } from '#contract/errors/issues.ts'
import type { UsageEntry, UsagePlace } from './usage-rows.ts'

/** Where the next page begins: after this row. Opaque to callers, and worth nothing for another account. */
export const cursorOf = ({ created_at_ms, seq, part }: UsageEntry): string =>
  Buffer.from(`${created_at_ms}.${seq}.${part}`).toString('base64url')

/** Throws 400 for what is no cursor of ours. */
export function readCursor(cursor: string): UsagePlace {
  const place = /^(\d{1,15})\.(\d{1,15})\.([01])$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (place) return { createdAtMs: Number(place[1]), seq: Number(place[2]), part: place[3] === '1' ? 1 : 0 }
  throw fieldError(['cursor'], 'Is none that a page named; leave it out to begin with the newest')
}
