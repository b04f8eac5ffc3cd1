import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { MicroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { isRunning, newId, thisProcess } from '#wallet/ids.ts'
import { orUnusable, type State } from '#wallet/records/state.ts'
import { textOrNull } from '#wallet/records/state-rows.ts'
import { clockSkewMs, lostCallMs, paidAnswerMs, paidCallsKeptMs, sameCallMs } from '../bounds.ts'
import { AgentTables, exactly, keptAmount } from '../state/schema.ts'

/**
 * `planned`: nothing was sent, or the service reported that it did nothing. `sent`: awaiting an answer. `lost`: no
 * answer came, so it may have been charged. `answered`: paid for, and kept until it is delivered.
 */
export type PaidCallState = 'planned' | 'sent' | 'lost' | 'answered' | 'delivered' | 'failed'

/** The terms on which a request was sent. */
export interface SentTerms {
  /** JSON of the consents, because a repeat with the same key must have the same bytes. */
  consents: string | null
  /** Whether its row's id was sent as an idempotency key. */
  isKeyed: boolean
  /** The price that the policy or the user allowed; null if none was known. */
  allowedMicroUsd: MicroUsd | null
  /** The wallet's address whose account should pay; null with an API key. */
  account: string | null
}

/** The terms are those of its last attempt. */
export interface PaidCallRow extends SentTerms {
  id: string
  /** Equal for equal calls. */
  requestHash: string
  operation: string
  state: PaidCallState
  chargedMicroUsd: MicroUsd | null
  createdAtMs: number
  updatedAtMs: number
  /** JSON of the answer. */
  answer: string | null
  /** The credit that the answer reported. */
  creditLeftMicroUsd: MicroUsd | null
  /** The job that its answer started. */
  jobId: string | null
}

export interface KeptAnswer {
  answer: unknown
  /** Micro-USD, like all amounts; null if unknown. */
  charged: MicroUsd | null
  creditLeft: MicroUsd | null
}

export type Claim =
  /** This process owns the row and may proceed. */
  | { kind: 'mine'; id: string }
  /** The same call was paid for and has not been delivered. */
  | { kind: 'earlier'; row: PaidCallRow }
  /** Another process is running it. */
  | { kind: 'running'; row: PaidCallRow }
  /** The same call was sent and its answer lost; this process owns the row now. */
  | { kind: 'lost'; row: PaidCallRow }

/** The records of paid calls: each call has a row before it has any effect. */
export class PaidCallRows {
  readonly #state: State
  readonly #tables: AgentTables
  readonly #clock: Clock

  constructor(state: State, clock: Clock) {
    this.#state = state
    this.#tables = new AgentTables(state)
    this.#clock = clock
  }

  /** Decides in one transaction, so that two processes do not buy the same thing. */
  claim(hash: string, operation: string, isAgain: boolean): Claim {
    const nowMs = this.#clock.now()
    const decide = () =>
      this.#tables.decide((db): Claim => {
        forgetOld(db, nowMs - paidCallsKeptMs)
        const open = isAgain ? undefined : findOpen(db, hash, nowMs)
        return open ? take(db, open, nowMs) : { kind: 'mine', id: insert(db, hash, operation, nowMs) }
      })
    return orUnusable(this.#state, decide)
  }

  /** Claims one row of any age, in one transaction; null if it was deleted or has failed. */
  claimRow(id: string): Claim | null {
    return this.#tables.decide(db => {
      const open = find(db, id)
      return open && open.state !== 'failed' ? take(db, open, this.#clock.now()) : null
    })
  }

  get(id: string): PaidCallRow {
    const row = this.find(id)
    if (row) return row
    throw new Error('A paid call is not in its table.')
  }

  /** Returns null if it is no longer kept. */
  find(id: string): PaidCallRow | null {
    const row = this.#tables.decide(db => find(db, id))
    return row ? read(row) : null
  }

  /** Returns the call whose answer started a job; null if it is no longer kept. */
  ofJob(jobId: string): PaidCallRow | null {
    const row = this.#tables.decide(db => exactly(db, 'SELECT * FROM paid_calls WHERE job_id = ?').get(jobId))
    return row ? read(row) : null
  }

  /** Returns the newest equal call that was made and answered after an earlier one; null if there is none. */
  boughtAfter({ id, requestHash }: Pick<PaidCallRow, 'id' | 'requestHash'>): PaidCallRow | null {
    const row = this.#tables.decide(db =>
      exactly(
        db,
        `SELECT * FROM paid_calls WHERE request_hash = ? AND state IN ('answered', 'delivered')
           AND rowid > (SELECT rowid FROM paid_calls WHERE id = ?) ORDER BY rowid DESC LIMIT 1`,
      ).get(requestHash, id),
    )
    return row ? read(row) : null
  }

  mark(id: string, state: PaidCallState): void {
    this.#tables.decide(db => mark(db, id, state, this.#clock.now()))
  }

  /** Called before the request is sent. */
  sent(id: string, { consents, isKeyed, allowedMicroUsd, account }: SentTerms): void {
    this.#tables.decide(db => {
      mark(db, id, 'sent', this.#clock.now())
      db.prepare(
        'UPDATE paid_calls SET consents = ?, with_key = ?, allowed_micro_usd = ?, account = ? WHERE id = ?',
      ).run(consents, isKeyed ? 1 : 0, allowedMicroUsd, account, id)
    })
  }

  /** Stores the answer before it is delivered. `also` runs in the same transaction. */
  answered(id: string, { answer, charged, creditLeft }: KeptAnswer, also?: (db: DatabaseSync) => string | null): void {
    this.#tables.decide(db => {
      const jobId = also?.(db) ?? null
      mark(db, id, 'answered', this.#clock.now())
      db.prepare(
        'UPDATE paid_calls SET answer = ?, charged_micro_usd = ?, credit_left_micro_usd = ?, job_id = ? WHERE id = ?',
      ).run(JSON.stringify(answer), charged, creditLeft, jobId, id)
      db.prepare(
        `UPDATE jobs SET state = 'completed', price_micro_usd = ?, request = NULL, changed_at_ms = ?
         WHERE call_id = ? AND state = 'running'`,
      ).run(charged, this.#clock.now(), id)
    })
  }
}

const find = (db: DatabaseSync, id: string) => exactly(db, 'SELECT * FROM paid_calls WHERE id = ?').get(id)

/** The request of a job that a call became is as confidential as its answer, and is kept no longer. */
function forgetOld(db: DatabaseSync, beforeMs: number): void {
  db.prepare('DELETE FROM paid_calls WHERE updated_at_ms < ?').run(beforeMs)
  db.prepare(
    `UPDATE jobs SET request = NULL, tool = NULL WHERE call_id IS NOT NULL AND tool IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM paid_calls WHERE paid_calls.id = jobs.call_id)`,
  ).run()
}

function take(db: DatabaseSync, open: Record<string, SQLOutputValue>, nowMs: number): Claim {
  const row = read(open)
  if (row.state === 'answered' || row.state === 'delivered') return { kind: 'earlier', row }
  // Another process may have got the same process id since, and the processes of another machine are unknown.
  const isOver = row.state === 'sent' && nowMs > row.updatedAtMs + paidAnswerMs + clockSkewMs
  if (row.state !== 'lost' && !isOver && isRunning(String(open.owner))) return { kind: 'running', row }
  const isLost = row.state === 'lost' || row.state === 'sent'
  // We don't know when its process ended, but its request had ended by then.
  const updatedAtMs = row.state === 'sent' ? Math.min(nowMs, row.updatedAtMs + paidAnswerMs) : row.updatedAtMs
  db.prepare('UPDATE paid_calls SET owner = ?, state = ?, updated_at_ms = ? WHERE id = ?').run(
    thisProcess(),
    isLost ? 'lost' : 'planned',
    updatedAtMs,
    row.id,
  )
  // The process of a planned call ended before anything was bought.
  return isLost ? { kind: 'lost', row: { ...row, updatedAtMs } } : { kind: 'mine', id: row.id }
}

/**
 * The time for equal calls runs from the last event of a call, because a call itself may take nearly as long. A sent
 * call may still be running, and so may a job. A paid answer is kept until it is delivered. A job that an answer
 * started counts as delivered once its file is, whatever happened to that answer. A call without a key may have been
 * charged, so it is remembered for longer, unless it was bought again since.
 */
const findOpen = (db: DatabaseSync, hash: string, nowMs: number) =>
  exactly(
    db,
    `SELECT paid_calls.* FROM paid_calls LEFT JOIN jobs ON jobs.id = paid_calls.job_id
       WHERE request_hash = ?
         AND (paid_calls.state = 'answered'
           OR (paid_calls.state IN ('planned', 'sent', 'lost')
             AND EXISTS (SELECT 1 FROM jobs WHERE call_id = paid_calls.id AND state = 'running'))
           OR (paid_calls.state = 'sent' AND updated_at_ms > ?)
           OR (paid_calls.state IN ('sent', 'lost') AND with_key = 0 AND updated_at_ms > ? AND NOT EXISTS
             (SELECT 1 FROM paid_calls newer WHERE newer.request_hash = paid_calls.request_hash
                AND newer.rowid > paid_calls.rowid AND newer.state IN ('answered', 'delivered')))
           OR (updated_at_ms > ? AND (paid_calls.state IN ('planned', 'lost')
             OR (paid_calls.state = 'delivered' AND jobs.state IN ('running', 'completed') AND jobs.delivered = 0))))
       ORDER BY created_at_ms DESC, paid_calls.rowid DESC LIMIT 1`,
  ).get(hash, nowMs - sameCallMs - paidAnswerMs, nowMs - lostCallMs, nowMs - sameCallMs)

function insert(db: DatabaseSync, hash: string, operation: string, nowMs: number): string {
  const id = newId('call')
  db.prepare(
    `INSERT INTO paid_calls (id, request_hash, operation, state, owner, created_at_ms, updated_at_ms)
     VALUES (?, ?, ?, 'planned', ?, ?, ?)`,
  ).run(id, hash, operation, thisProcess(), nowMs, nowMs)
  return id
}

const mark = (db: DatabaseSync, id: string, state: PaidCallState, nowMs: number): void => {
  db.prepare('UPDATE paid_calls SET state = ?, updated_at_ms = ? WHERE id = ?').run(state, nowMs, id)
}

const read = (row: Record<string, SQLOutputValue>): PaidCallRow => ({
  id: String(row.id),
  requestHash: String(row.request_hash),
  operation: String(row.operation),
  state: row.state as PaidCallState,
  chargedMicroUsd: keptAmount(row.charged_micro_usd),
  creditLeftMicroUsd: keptAmount(row.credit_left_micro_usd),
  createdAtMs: Number(row.created_at_ms),
  updatedAtMs: Number(row.updated_at_ms),
  answer: textOrNull(row.answer),
  consents: textOrNull(row.consents),
  isKeyed: row.with_key === 1n,
  allowedMicroUsd: keptAmount(row.allowed_micro_usd),
  account: textOrNull(row.account),
  jobId: textOrNull(row.job_id),
})

/** Outcomes of calls that could not be written; until they are, their rows say that this process is running them. */
export class UnwrittenEnds {
  readonly #rows: PaidCallRows
  readonly #ends = new Map<string, 'lost' | 'failed'>()

  constructor(rows: PaidCallRows) {
    this.#rows = rows
  }

  ended(id: string, state: 'lost' | 'failed'): void {
    this.#ends.set(id, state)
    try {
      this.write()
    } catch {
      // For example on a full disk: the next call writes it, and this one reports its result.
    }
  }

  write(): void {
    for (const [id, state] of this.#ends) {
      this.#rows.mark(id, state)
      this.#ends.delete(id)
    }
  }
}

/** What is known about a call while it is being made. */
export interface CallState {
  /** Only the call's outcome is wanted: nothing is paid for it, and no consent is given. */
  isOnlyAsked: boolean
  /** The service may have done the work and charged it. */
  mayBeCharged: boolean
  /** Sending the call again may pay for it twice, so the user must approve it. */
  mayBeSecond: boolean
  /** It was sent before, without a key. */
  wentWithoutKey: boolean
  /** JSON of the members that carry the user's consent. */
  consents: string | null
  /** The price up to which the call needs no further approval. */
  allowedMicroUsd: MicroUsd | null
}

export const callStateAtStart = (claim: Claim, isOnlyAsked: boolean): CallState => ({
  isOnlyAsked,
  mayBeCharged: claim.kind === 'lost',
  mayBeSecond: false,
  wentWithoutKey: claim.kind === 'lost' && !claim.row.isKeyed,
  consents: null,
  allowedMicroUsd: null,
})

/**
 * A call that is sent again with its key was already approved up to its price, so the user is not asked twice about one
 * purchase.
 */
export const isAllowedAt = ({ allowedMicroUsd }: CallState, price: MicroUsd | null): boolean =>
  price !== null && allowedMicroUsd !== null && price <= allowedMicroUsd
