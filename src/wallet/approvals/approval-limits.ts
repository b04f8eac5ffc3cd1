import * as limits from '../limits.ts'
import { all, type Row, type Value, type Work } from '../records/records.ts'
import type { ApprovalFacts } from '../terms/approval.ts'

/** Groups questions: those of one kind about one operation of one service. */
interface QuestionSort {
  kind: ApprovalFacts['kind']
  requestHash: string
  /** Empty if the caller gives none. */
  origin: string
  operation: string
}

interface InTheWay {
  /** Questions that end so that a new one can be asked. */
  rows: readonly Row[]
  /** For the requester; null if no other request was replaced. */
  sentence: string | null
  /** Too many questions are pending to ask another. */
  isFull: boolean
}

/**
 * Returns what must make room for a question, oldest first. A caller that asks in a loop replaces its own requests:
 * first the same request at another price, then its own group, and only if the whole list is full, others of the same
 * service.
 */
export function* inTheWay({ kind, requestHash, origin, operation }: QuestionSort, nowMs: number): Work<InTheWay> {
  const same = yield* waiting('kind = ? AND request_hash = ?', nowMs, kind, requestHash)
  if (same.length > 0) return { rows: same, sentence: null, isFull: false }
  const sort = `kind = ? AND coalesce(origin, '') = ? AND coalesce(operation, '') = ?`
  const ofSort = yield* waiting(sort, nowMs, kind, origin, operation)
  if (ofSort.length >= limits.maxPendingOfSort) return making(ofSort, limits.maxPendingOfSort, 'of the same kind')
  const waitingNow = yield* waiting('kind IS NOT NULL', nowMs)
  if (waitingNow.length < limits.maxPendingApprovals) return { rows: [], sentence: null, isFull: false }
  const ofService = yield* waiting(`coalesce(origin, '') = ?`, nowMs, origin)
  return making(ofService, ofService.length, 'for the same service')
}

/** More than one may be above the limit, because an earlier version allowed more. */
function making(rows: readonly Row[], most: number, which: string): InTheWay {
  const leaving = rows.slice(0, Math.max(0, rows.length - most + 1))
  const sentence = `${rows.length} requests ${which} were already pending, so the oldest was replaced.`
  return { rows: leaving, sentence, isFull: leaving.length === 0 }
}

const waiting = (which: string, nowMs: number, ...values: Value[]): Work<readonly Row[]> =>
  all(
    `SELECT * FROM approvals WHERE state = 'pending' AND expires_at_ms > ? AND ${which} ORDER BY created_at_ms, rowid`,
    nowMs,
    ...values,
  )
