import { keptAttestedMedia } from '../limits.ts'
import { all, change, first, type Row, type Work } from '../records/records.ts'
import type { ConsentFacts } from '../terms/approval.ts'

/** A media file of a request. `hash` is over its bytes, or over its URL if the bytes are elsewhere. */
export interface ConsentedMediaItem {
  hash: string
  isAddress: boolean
}

export interface Attested {
  /** The newest policy under which one of them was sent. */
  facts: ConsentFacts
  /** The media of the request that the service may recognize from it. */
  hashes: ReadonlySet<string>
}

/** Records, before sending, which media go to a service with a consent, because it may not ask about them again. */
export function* noteAttested(
  { origin, facts, media }: { origin: string; facts: string; media: readonly ConsentedMediaItem[] },
  nowMs: number,
): Work<void> {
  for (const { hash, isAddress } of media) {
    yield* change(
      `INSERT INTO attested_media (origin, medium, is_address, facts, at_ms) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (origin, medium) DO UPDATE SET facts = excluded.facts, at_ms = excluded.at_ms`,
      ...[origin, hash, isAddress ? 1 : 0, facts, nowMs],
    )
  }
  yield* change(
    `DELETE FROM attested_media WHERE at_ms < (SELECT min(at_ms) FROM
       (SELECT at_ms FROM attested_media ORDER BY at_ms DESC LIMIT ?) AS newest)`,
    keptAttestedMedia,
  )
}

/**
 * Returns which of these media a service may recognize from an earlier consent. The bytes behind a URL are unknown
 * here, so a URL may be any media file that was sent, and any media file may have been sent by URL.
 */
export function* findAttested(
  origin: string,
  media: readonly ConsentedMediaItem[],
  read: (facts: string) => ConsentFacts,
): Work<Attested | null> {
  if (media.length === 0) return null
  const byAddress = yield* newest('origin = ? AND is_address = 1', origin)
  const any = yield* newest('origin = ?', origin)
  if (!any) return null
  const places = media.map(() => '?').join(', ')
  const known = yield* all(
    `SELECT medium, facts FROM attested_media WHERE origin = ? AND medium IN (${places}) ORDER BY at_ms DESC`,
    ...[origin, ...media.map(({ hash }) => hash)],
  )
  const exact = new Set(known.map(({ medium }) => String(medium)))
  const meant = media.filter(({ hash, isAddress }) => isAddress || byAddress !== undefined || exact.has(hash))
  if (meant.length === 0) return null
  const row: Row = known[0] ?? byAddress ?? any
  return { facts: read(String(row.facts)), hashes: new Set(meant.map(({ hash }) => hash)) }
}

const newest = (which: string, ...values: string[]): Work<Row | undefined> =>
  first(`SELECT facts FROM attested_media WHERE ${which} ORDER BY at_ms DESC LIMIT 1`, ...values)
