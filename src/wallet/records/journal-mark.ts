import { first, type Work } from './work.ts'

/** How far a journal has come. Steps are only ever added, so an older copy of it has fewer. */
export interface JournalMark {
  /** The journal's own id. */
  journal: string
  /** Of all payments, each change of state. */
  steps: number
  /** Payments that were ever signed. */
  count: number
  /** What the caps count. */
  totalMicroUsd: bigint
  /** The payment that was signed last; null before the first. */
  last: string | null
}

export function* journalMark(): Work<JournalMark> {
  const row = yield* first(
    `SELECT (SELECT id FROM journal) AS journal,
       (SELECT count(*) FROM payment_steps) AS steps,
       (SELECT count(*) FROM payments WHERE nonce IS NOT NULL) AS signed,
       (SELECT coalesce(sum(amount_micro_usd), 0) FROM payments WHERE counts = 1) AS total,
       (SELECT id FROM payments WHERE nonce IS NOT NULL ORDER BY created_at_ms DESC, rowid DESC LIMIT 1) AS last`,
  )
  return {
    journal: String(row?.journal),
    steps: Number(row?.steps),
    count: Number(row?.signed),
    totalMicroUsd: BigInt(Number(row?.total)),
    last: typeof row?.last === 'string' ? row.last : null,
  }
}

/**
 * Whether a journal lacks payments that were noted of it, as a restored copy does, or a new one in the place of one that
 * was removed. Its caps would count from too little.
 */
export function* isBehind(noted: JournalMark): Work<boolean> {
  const present = yield* journalMark()
  if (present.journal !== noted.journal) return noted.count > 0
  if (present.steps < noted.steps || present.count < noted.count) return true
  return noted.last !== null && (yield* first('SELECT id FROM payments WHERE id = ?', noted.last)) === undefined
}
