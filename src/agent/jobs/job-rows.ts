import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { MicroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import type { JobView, SavedFile } from '#toolkit/tool-context.ts'
import type { CalledTool } from '#toolkit/tool-host.ts'
import { reviveFormFile } from '#toolkit/values/form-file.ts'
import { isRunning, newId, thisProcess } from '#wallet/ids.ts'
import type { State } from '#wallet/records/state.ts'
import { textOrNull } from '#wallet/records/state-rows.ts'
import { finishedJobsKeptMs, keptFinishedJobs, listedJobs, savingLeaseMs } from '../bounds.ts'
import { insertSavedFile } from '../media/saved-files.ts'
import { AgentTables, exactly, keptAmount } from '../state/schema.ts'

/** A stored job: what is shown, and what only we need in order to poll it. */
export interface JobRow extends JobView {
  /** Base URL of the service that runs it. */
  service: string
  queueId: string
  downloadUrl: string | null
  /** Whether its file came from `downloadUrl`: only then is there anything to delete at that address. */
  isDownloaded: boolean
  /** The tool whose call the service queued; null if unknown. */
  startedBy: string | null
  /** The row of the paid call that became this job; null for one that the service queued. */
  callId: string | null
  /** When it ended or was last polled; null while it runs. */
  changedAtMs: number | null
  /** When its follower gave up; the job itself continues. */
  cancelledAtMs: number | null
  /** The approval that its call still needs; once it is approved, the same job makes the call. */
  asks: string | null
  timesAsked: number
}

/** A job that the service queued. */
export type QueuedJobRow = JobRow & { kind: 'video' | 'audio' }

export const isQueued = (job: JobRow): job is QueuedJobRow => job.kind !== 'call'

/** A paid call that continues as a job. */
export interface NewCallJob {
  service: string
  model: string
  callId: string
  /** What was sent; JSON. */
  request: unknown
  tool: CalledTool
}

/** What only a call's job has; null once it is no longer needed. */
export interface CallJobParts {
  request: unknown
  tool: CalledTool | null
}

export interface NewJob {
  kind: 'video' | 'audio'
  service: string
  queueId: string
  model: string
  downloadUrl: string | null
  priceMicroUsd: MicroUsd | null
  startedBy: string | null
}

/** A job's file, and whether it came from the job's own download address. */
export interface SavedMedia {
  file: SavedFile
  isDownloaded: boolean
}

/** Stores jobs, so that a restart loses none that was paid for. */
export class JobRows {
  readonly #tables: AgentTables
  readonly #clock: Clock
  /** Jobs whose files this process is saving. A lease covers processes that end, but a large file may outlast it. */
  readonly #saving = new Set<string>()

  constructor(state: State, clock: Clock) {
    this.#tables = new AgentTables(state)
    this.#clock = clock
  }

  /** Runs inside the transaction that stores the answer which started the job. We choose the id. */
  insert(db: DatabaseSync, job: NewJob): string {
    const id = newId('job')
    db.prepare(
      `INSERT INTO jobs (id, kind, service, queue_id, model, download_url, price_micro_usd, started_by, state, started_at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running', ?)`,
    ).run(
      ...[id, job.kind, job.service, job.queueId, job.model, job.downloadUrl, job.priceMicroUsd, job.startedBy],
      this.#clock.now(),
    )
    forgetFinished(db, this.#clock.now())
    return id
  }

  /** Returns the job of a call in flight; the existing one if another caller of the same call has it. */
  insertCall(job: NewCallJob): JobRow {
    const row = this.#tables.decide(db => {
      db.prepare(
        `INSERT INTO jobs (id, kind, service, queue_id, model, state, started_at_ms, call_id, request, tool)
         VALUES (?, 'call', ?, '', ?, 'running', ?, ?, ?, ?) ON CONFLICT (call_id) WHERE call_id IS NOT NULL DO NOTHING`,
      ).run(
        newId('job'),
        job.service,
        job.model,
        this.#clock.now(),
        job.callId,
        JSON.stringify(job.request),
        JSON.stringify(job.tool),
      )
      forgetFinished(db, this.#clock.now())
      return exactly(db, 'SELECT * FROM jobs WHERE call_id = ?').get(job.callId)
    })
    if (!row) throw new Error('A job that was just written is not in its table.')
    return read(row)
  }

  ofCall(callId: string): JobRow | null {
    const row = exactly(this.#tables.database, 'SELECT * FROM jobs WHERE call_id = ?').get(callId)
    return row ? read(row) : null
  }

  callParts(id: string): CallJobParts {
    const row = this.#tables.database.prepare('SELECT request, tool FROM jobs WHERE id = ?').get(id)
    const json = (value: SQLOutputValue | undefined) =>
      typeof value === 'string' ? JSON.parse(value, reviveFormFile) : null
    return { request: json(row?.request), tool: json(row?.tool) }
  }

  /** Ends a job whose call's answer is in its row. */
  callAnswered(id: string, chargedMicroUsd: MicroUsd | null): void {
    this.#run(
      `UPDATE jobs SET state = 'completed', price_micro_usd = ?, request = NULL, changed_at_ms = ?
       WHERE id = ? AND state = 'running'`,
      chargedMicroUsd === null ? null : Number(chargedMicroUsd),
      this.#clock.now(),
      id,
    )
  }

  /** Ends a job whose call failed. */
  callFailed(id: string, failure: string, chargedMicroUsd: MicroUsd | null): void {
    this.#run(
      `UPDATE jobs SET state = 'failed', failure = ?, price_micro_usd = ?, request = NULL, tool = NULL, changed_at_ms = ?
       WHERE id = ? AND state = 'running'`,
      failure,
      chargedMicroUsd === null ? null : Number(chargedMicroUsd),
      this.#clock.now(),
      id,
    )
  }

  /**
   * Records that a call was not made because the user must decide first; its request is kept, so that it can be made
   * later.
   */
  callAsks(id: string, failure: string, approvalId: string): void {
    this.#run(
      `UPDATE jobs SET state = 'failed', failure = ?, price_micro_usd = 0, asks = ?, times_asked = times_asked + 1,
         changed_at_ms = ? WHERE id = ? AND state = 'running'`,
      failure,
      approvalId,
      this.#clock.now(),
      id,
    )
  }

  /** Continues the job with another call. If that call already has a different job, returns its id. */
  callAgain(id: string, callId: string): string | null {
    return this.#tables.decide(db => {
      const other = db.prepare('SELECT id FROM jobs WHERE call_id = ? AND id <> ?').get(callId, id)
      if (other) return String(other.id)
      db.prepare(
        `UPDATE jobs SET state = 'running', call_id = ?, asks = NULL, failure = NULL, price_micro_usd = NULL,
           changed_at_ms = NULL WHERE id = ? AND asks IS NOT NULL`,
      ).run(callId, id)
      return null
    })
  }

  /** The approval that the job's call needed is closed. */
  askedNoMore(id: string, failure: string): void {
    this.#run('UPDATE jobs SET asks = NULL, request = NULL, tool = NULL, failure = ? WHERE id = ?', failure, id)
  }

  cancelled(id: string): void {
    this.#run(
      `UPDATE jobs SET cancelled_at_ms = ? WHERE id = ? AND cancelled_at_ms IS NULL AND (state = 'running' OR asks IS NOT NULL)`,
      this.#clock.now(),
      id,
    )
  }

  /** A caller wants the result again. */
  wanted(id: string): void {
    this.#run('UPDATE jobs SET cancelled_at_ms = NULL WHERE id = ?', id)
  }

  find(id: string): JobRow | null {
    const row = exactly(this.#tables.database, 'SELECT * FROM jobs WHERE id = ?').get(id)
    return row ? read(row) : null
  }

  /** Newest first. */
  list(limit: number): JobRow[] {
    return exactly(this.#tables.database, 'SELECT * FROM jobs ORDER BY started_at_ms DESC, rowid DESC LIMIT ?')
      .all(Math.min(limit, listedJobs))
      .map(read)
  }

  /** Returns a service's running jobs that were started in that time, newest first. */
  running(service: string, { afterMs, beforeMs }: { afterMs: number; beforeMs: number }, most: number): JobRow[] {
    return exactly(
      this.#tables.database,
      `SELECT * FROM jobs WHERE state = 'running' AND service = ? AND started_at_ms > ? AND started_at_ms < ?
         ORDER BY started_at_ms DESC LIMIT ?`,
    )
      .all(service, afterMs, beforeMs, most)
      .map(read)
  }

  /** From the service, so invalid values are ignored. */
  typical(id: string, ms: number): void {
    if (Number.isSafeInteger(Math.round(ms)))
      this.#run('UPDATE jobs SET typical_ms = ? WHERE id = ?', Math.round(ms), id)
  }

  ended(id: string, state: 'failed' | 'deleted', failure: string, isRefunded: boolean): void {
    this.#run(
      `UPDATE jobs SET state = ?, failure = ?, refunded = ?, changed_at_ms = ? WHERE id = ? AND state = 'running'`,
      state,
      failure,
      isRefunded ? 1 : 0,
      this.#clock.now(),
      id,
    )
  }

  /** Its result is deleted at the service; a saved file stays. */
  deleted(id: string): void {
    this.#run(`UPDATE jobs SET state = 'deleted' WHERE id = ? AND state = 'completed'`, id)
  }

  /** Stores the job and its file's own row in one transaction. */
  saved({ jobId, model, startedBy }: JobRow, { file, isDownloaded }: SavedMedia): void {
    this.#tables.decide(db => {
      db.prepare(
        `UPDATE jobs SET state = 'completed', file_path = ?, file_mime_type = ?, file_bytes = ?, downloaded = ?, saver = NULL,
           changed_at_ms = ? WHERE id = ?`,
      ).run(file.path, file.mimeType, file.bytes, isDownloaded ? 1 : 0, this.#clock.now(), jobId)
      insertSavedFile(db, { ...file, id: jobId, model, tool: startedBy }, this.#clock.now())
    })
    this.#saving.delete(jobId)
  }

  /** The waiting caller has the file; from now on the same call starts a new job. */
  delivered(id: string): void {
    this.#run('UPDATE jobs SET delivered = 1 WHERE id = ?', id)
  }

  /** Returns whether the caller may save the file: only one does at a time, and none once it is saved. */
  takeSaving(id: string): boolean {
    if (this.#saving.has(id)) return false
    const nowMs = this.#clock.now()
    const isTaken = this.#tables.decide(db => {
      const row = db.prepare(`SELECT saver, saving_until_ms FROM jobs WHERE id = ? AND state = 'running'`).get(id)
      if (!row) return false
      const { saver, saving_until_ms: untilMs } = row
      const isHeld = typeof saver === 'string' && Number(untilMs) > nowMs && isRunning(saver)
      if (isHeld) return false
      db.prepare('UPDATE jobs SET saver = ?, saving_until_ms = ? WHERE id = ?').run(
        thisProcess(),
        nowMs + savingLeaseMs,
        id,
      )
      return true
    })
    if (isTaken) this.#saving.add(id)
    return isTaken
  }

  /** Extends the lease while a large file arrives, because two processes would write the same part of it. */
  keepSaving(id: string): void {
    const untilMs = this.#clock.now() + savingLeaseMs
    this.#run('UPDATE jobs SET saving_until_ms = ? WHERE id = ? AND saver = ?', untilMs, id, thisProcess())
  }

  /** Does nothing if another process has taken it over since. */
  leaveSaving(id: string): void {
    this.#saving.delete(id)
    this.#run('UPDATE jobs SET saver = NULL WHERE id = ? AND saver = ?', id, thisProcess())
  }

  #run(sql: string, ...values: (string | number | null)[]): void {
    this.#tables.database.prepare(sql).run(...values)
  }
}

/** Drops ended jobs, oldest first, by age and number; their files stay. */
function forgetFinished(db: DatabaseSync, nowMs: number): void {
  db.prepare(`DELETE FROM jobs WHERE state <> 'running' AND started_at_ms < ?`).run(nowMs - finishedJobsKeptMs)
  db.prepare(
    `DELETE FROM jobs WHERE id IN
       (SELECT id FROM jobs WHERE state <> 'running' ORDER BY started_at_ms DESC, rowid DESC LIMIT -1 OFFSET ?)`,
  ).run(keptFinishedJobs)
}

const read = (row: Record<string, SQLOutputValue>): JobRow => ({
  jobId: String(row.id),
  kind: row.kind as JobRow['kind'],
  callId: textOrNull(row.call_id),
  startedBy: textOrNull(row.started_by),
  service: String(row.service),
  queueId: String(row.queue_id),
  model: String(row.model),
  downloadUrl: textOrNull(row.download_url),
  isDownloaded: row.downloaded === 1n,
  state: row.state as JobRow['state'],
  startedAtMs: Number(row.started_at_ms),
  typicalMs: row.typical_ms === null ? null : Number(row.typical_ms),
  priceMicroUsd: keptAmount(row.price_micro_usd),
  refunded: row.refunded === 1n,
  file:
    typeof row.file_path === 'string'
      ? { path: row.file_path, mimeType: String(row.file_mime_type), bytes: Number(row.file_bytes) }
      : null,
  failure: textOrNull(row.failure),
  changedAtMs: row.changed_at_ms === null ? null : Number(row.changed_at_ms),
  cancelledAtMs: row.cancelled_at_ms === null ? null : Number(row.cancelled_at_ms),
  asks: textOrNull(row.asks),
  timesAsked: Number(row.times_asked),
})

/** Leaves out the members that only we need. */
export const jobView = ({
  service: _s,
  queueId: _q,
  downloadUrl: _d,
  isDownloaded: _i,
  callId: _c,
  startedBy: _s2,
  changedAtMs: _a,
  cancelledAtMs: _g,
  asks: _k,
  timesAsked: _t,
  ...view
}: JobRow): JobView => view
