import { ClientError } from '#client/client-error.ts'
import { retryAtMs } from '#client/retry/retry.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { type MicroUsd, zeroUsd } from '#contract/money.ts'
import type { CallOf, Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { failureAsText, ToolFailure } from '#toolkit/tool-failure.ts'
import type { CalledTool, Invocation } from '#toolkit/tool-host.ts'
import { untrustedId, withoutHidden } from '#toolkit/values/untrusted.ts'
import { jobFaults, pollMs, shownIdCharacters } from '../bounds.ts'
import { isTransient, LostCall, wasForgotten, wasNotDone } from '../calls/lost-call.ts'
import type { PaidCalls } from '../calls/paid-call.ts'
import type { PaidCallRow, PaidCallRows } from '../calls/paid-call-rows.ts'
import { keepAnswer } from '../calls/stored-answer.ts'
import type { AgentContext } from '../context.ts'
import type { SavedFiles } from '../media/saved-files.ts'
import { askedModel } from '../prices/model-records.ts'
import type { Receipts } from '../receipts/receipts.ts'
import { inWords } from '../words/explain.ts'
import type { JobRow, JobRows } from './job-rows.ts'

interface CallJobParts extends AgentContext {
  paidCalls: PaidCalls
  rows: PaidCallRows
  jobRows: JobRows
  receipts: Receipts
  savedFiles: SavedFiles
}

/**
 * Paid calls that took longer than their callers could wait. Such a job is its call's row: the process that first has
 * the answer stores it there. If no process is running the call, the service is asked for the answer with the same key.
 */
export class CallJobs {
  readonly #agent: CallJobParts

  constructor(agent: CallJobParts) {
    this.#agent = agent
  }

  /** Returns the job of a call in flight in this process; null if it has just ended. */
  begin(callId: string, call: CallOf<Operation>, tool: CalledTool): JobRow | null {
    const { client, paidCalls, rows, jobRows } = this.#agent
    const pending = paidCalls.pendingEnd(callId)
    const state = rows.find(callId)?.state
    if (!pending || state === undefined || state === 'answered' || state === 'failed') return null
    const shown = withoutHidden(askedModel(call)).slice(0, shownIdCharacters)
    const service = client.address.baseUrl
    const job = jobRows.insertCall({ service, model: shown, callId, request: call, tool })
    // If the end cannot be written now, the next poll notices it.
    pending.catch(error => void this.#end(job, error)).catch(() => {})
    return job
  }

  /**
   * Waits until the job has ended or the time is over, and asks the service if no process is running it. Throws what
   * currently prevents an answer; a job that fails ends with the reason.
   */
  async follow(
    jobId: string,
    timeoutMs: number,
    { signal, report }: Pick<Invocation, 'signal' | 'report'>,
  ): Promise<JobRow> {
    const { clock, pause } = this.#agent
    const endMs = clock.now() + timeoutMs
    for (let faults = 0; ; ) {
      signal.throwIfAborted()
      const job = this.#row(jobId)
      if (job.state !== 'running') return job
      report({ message: `${untrustedId(job.model)}: ${Math.round((clock.now() - job.startedAtMs) / 1_000)} s` })
      let waitMs: number = pollMs.most
      try {
        const work = this.#goOn(job)
        const sliceMs = Math.min(pollMs.most, Math.max(0, endMs - clock.now()))
        if (work && (await hasEnded(work, sliceMs, this.#agent, signal))) continue
        if (work) waitMs = 0
      } catch (error) {
        signal.throwIfAborted()
        if (this.#end(job, error)) continue
        if (!isTransient(error) || ++faults > jobFaults) throw notYetAnswered(error, this.#agent)
        waitMs = Math.max(pollMs.most, (retryAtMs(error, clock.now()) ?? 0) - clock.now())
      }
      if (clock.now() + waitMs >= endMs) return this.#row(jobId)
      if (waitMs > 0) await pause(waitMs, signal)
    }
  }

  /** Returns the row with the answer of a finished job. */
  answered({ callId }: JobRow): PaidCallRow {
    const row = this.#agent.rows.find(callId ?? '')
    if (row?.answer) return row
    throw new ToolFailure({
      happened: 'The answer of this job was kept for a day and has been deleted.',
      charged: zeroUsd,
      next: 'If you still need it, make the call again; it is charged again.',
    })
  }

  delivered({ jobId, callId }: JobRow): void {
    this.#agent.jobRows.delivered(jobId)
    if (callId !== null) this.#agent.paidCalls.delivered(callId)
  }

  /**
   * Makes the call of a job that the user has approved since. If another call bought the same in the meantime, that
   * call becomes this job's.
   */
  goOn({ jobId, callId }: JobRow): void {
    const { paidCalls, rows, jobRows } = this.#agent
    const row = rows.find(callId ?? '')
    const asked = this.#asked(jobId, row)
    if (!row || !asked) {
      jobRows.askedNoMore(jobId, wasForgotten().facts.happened)
      return
    }
    // The approval was for one call, and a consent would apply to this one too.
    const earlier = rows.boughtAfter(row)
    if (earlier) {
      if (this.#becomes(jobId, earlier.id)) jobRows.callAnswered(jobId, earlier.chargedMicroUsd)
      return
    }
    const { rowId, bought } = paidCalls.buy(asked.operation, asked.call, { asking: asked.asking }, asked.keep)
    this.#becomes(jobId, rowId)
    // If the end cannot be written now, the next poll notices it.
    bought.catch(error => void this.#end(this.#row(jobId), error)).catch(() => {})
  }

  /**
   * Returns whether the job continues with that call; if the call already has a job, this one refers to it and ends.
   */
  #becomes(jobId: string, callId: string): boolean {
    const { jobRows } = this.#agent
    const others = jobRows.callAgain(jobId, callId)
    if (others !== null)
      jobRows.askedNoMore(jobId, `The same call continues as job ${others}; job_wait returns its answer.`)
    return others === null
  }

  #row(jobId: string): JobRow {
    const row = this.#agent.jobRows.find(jobId)
    if (!row) throw new Error('A job is not in its table.')
    return row
  }

  /** Resolves with the call; null if another process is running it. */
  #goOn({ jobId, callId }: JobRow): Promise<unknown> | null {
    const { paidCalls, rows, jobRows } = this.#agent
    const row = rows.find(callId ?? '')
    if (!row) throw wasForgotten()
    if (row.state === 'failed') throw wasNotDone()
    // Its answer was stored while this job was written, so nothing else ends the job.
    if (row.answer !== null) return Promise.resolve(jobRows.callAnswered(jobId, row.chargedMicroUsd))
    const pending = paidCalls.pendingEnd(row.id)
    if (pending) return pending
    const asked = this.#asked(jobId, row)
    if (!asked) throw wasForgotten()
    return paidCalls.resume(row.id, asked)?.bought ?? null
  }

  /** Returns what was sent, and how its answer is stored; null once that is no longer known. */
  #asked(jobId: string, row: PaidCallRow | null) {
    const { rows, jobRows, receipts, savedFiles } = this.#agent
    const operation: Operation | undefined = operations.find(({ id }) => id === row?.operation)
    const { request, tool } = jobRows.callParts(jobId)
    if (!operation || request === null) return null
    const call = request as CallOf<Operation>
    const origin = { model: askedModel(call), tool: tool?.name ?? null }
    const keep = keepAnswer({ rows, receipts, savedFiles }, operation, origin)
    return { operation, call, keep, asking: { tool: origin.tool } }
  }

  /** Returns whether the error ends the job; then it is recorded in its row. */
  #end({ jobId, callId }: JobRow, error: unknown): boolean {
    const { rows, jobRows } = this.#agent
    const isRefused = rows.find(callId ?? '')?.state === 'failed'
    const end = endOfCall(error, isRefused, this.#agent)
    if (end?.approvalId !== undefined) jobRows.callAsks(jobId, end.failure, end.approvalId)
    else if (end) jobRows.callFailed(jobId, end.failure, end.chargedMicroUsd)
    return end !== null
  }
}

/** Returns whether the work ended within that time; throws what it throws. */
async function hasEnded(
  work: Promise<unknown>,
  ms: number,
  { pause }: AgentContext,
  signal: AbortSignal,
): Promise<boolean> {
  const waiting = new AbortController()
  const late = pause(ms, AbortSignal.any([signal, waiting.signal])).then(() => false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    waiting.abort()
    late.catch(() => {})
  }
}

/**
 * Returns how a call's error ends the job, or null if it continues. `isRefused`: the call's row says that nothing was
 * done. `approvalId` names the approval that the call still needs.
 */
function endOfCall(
  error: unknown,
  isRefused: boolean,
  agent: AgentContext,
): { failure: string; chargedMicroUsd: MicroUsd | null; approvalId?: string } | null {
  if (!isRefused && !isLastWord(error)) return null
  const worded = inWords(error, agent, true)
  if (isRefused && worded instanceof ApprovalRequired) {
    return { failure: sayEnd(worded), chargedMicroUsd: zeroUsd, approvalId: worded.request.approvalId }
  }
  const costNothing = isRefused || (worded instanceof LostCall && worded.facts.charged === zeroUsd)
  return { failure: sayEnd(worded), chargedMicroUsd: costNothing ? zeroUsd : null }
}

/**
 * The job continues: one poll does not show what its call was charged. What must be fixed first is reported; advice
 * about a lost call is only for callers without a job. The user is asked as usual.
 */
function notYetAnswered(error: unknown, agent: AgentContext): unknown {
  const worded = inWords(error, agent, true)
  if (!(worded instanceof ToolFailure)) return error
  const isLost = error instanceof LostCall || (error instanceof ClientError && error.wasSent)
  const next = `${isLost ? '' : `${worded.facts.next} `}The job continues: call job_wait with its id again.`
  return new ToolFailure({ ...worded.facts, charged: 'unknown', next })
}

/** Final answers, for every caller that asks again. */
const lastWords: ReadonlySet<string> = new Set(['IDEMPOTENCY_ANSWER_NOT_KEPT', 'IDEMPOTENCY_KEY_REUSED'])

function isLastWord(error: unknown): boolean {
  if (error instanceof LostCall) return error.isFinal
  if (error instanceof ServiceError) return lastWords.has(error.kind)
  return error instanceof ClientError && (error.kind === 'unreadable' || error.kind === 'too-large')
}

function sayEnd(worded: unknown): string {
  if (worded instanceof ToolFailure) return failureAsText(worded.facts)
  if (worded instanceof ApprovalRequired)
    return 'It needs the user’s approval first: make the same call again to ask for it.'
  return 'An internal error ended it. Make the same call again to retry it.'
}
