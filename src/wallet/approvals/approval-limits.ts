import * as limits from '../limits.ts'
import { all, type Row, type Value, type Work } from '../records/records.ts'
import type { ApprovalFacts } from '../terms/approval.ts'

/** Groups requests for approval: those of one kind, for one operation of one service. */
interface RequestGroup {
  kind: ApprovalFacts['kind']
  requestHash: string
  origin: string
  /** Empty if the call is not one of the contract. */
  operation: string
}

interface InTheWay {
  /** Pending requests that end so that a new one can be made. */
  rows: readonly Row[]
  /** A note for the caller if other requests were replaced; null otherwise. */
  sentence: string | null
  /** Too many requests are pending to make another. */
  isFull: boolean
}

/**
 * Returns which pending requests must end to make room for a new one, oldest first. A caller in a loop replaces its own
 * requests: first the same request at another price, then its own group, and only if the whole list is full, others of
 * the same service.
 */
export function* inTheWay({ kind, requestHash, origin, operation }: RequestGroup, nowMs: number): Work<InTheWay> {
  const same = yield* waiting('kind = ? AND request_hash = ?', nowMs, kind, requestHash)
  if (same.length > 0) return { rows: same, sentence: null, isFull: false }
  const group = `kind = ? AND origin = ? AND coalesce(operation, '') = ?`
  const ofGroup = yield* waiting(group, nowMs, kind, origin, operation)
  if (ofGroup.length >= limits.maxPendingOfGroup) return withoutOldest(ofGroup, 'of the same kind')
  const waitingNow = yield* waiting('kind IS NOT NULL', nowMs)
  if (waitingNow.length < limits.maxPendingApprovals) return { rows: [], sentence: null, isFull: false }
  const ofService = yield* waiting('origin = ?', nowMs, origin)
  return withoutOldest(ofService, 'for the same service')
}

function withoutOldest(rows: readonly Row[], which: string): InTheWay {
  const sentence = `${rows.length} requests ${which} were already pending, so the oldest was replaced.`
  return { rows: rows.slice(0, 1), sentence, isFull: rows.length === 0 }
}

const waiting = (which: string, nowMs: number, ...values: Value[]): Work<readonly Row[]> =>
  all(
    `SELECT * FROM approvals WHERE state = 'pending' AND expires_at_ms > ? AND ${which} ORDER BY created_at_ms, rowid`,
    nowMs,
    ...values,
  )
