import { ToolFailure } from '#toolkit/tool-failure.ts'
import { followedJobs, resumedJobMs, resumedJobs } from '../bounds.ts'
import { inWords } from '../words/explain.ts'
import type { JobRow } from './job-rows.ts'
import { type JobContext, Jobs, type Waiting } from './jobs.ts'

/** `message` is the last progress report. */
interface Followed {
  message: string | null
  isPending: boolean
}

/**
 * Running jobs that clients poll. Each is followed once per process, so that a poll makes no request to the service and
 * a long download does not delay it. Nothing else is kept here; the next poll resumes what was interrupted.
 */
export class FollowedJobs {
  readonly #agent: JobContext
  readonly #stopping = new AbortController()
  /** Oldest first. */
  readonly #followed = new Map<string, Followed>()

  constructor(agent: JobContext) {
    this.#agent = agent
  }

  /** Returns the last progress report; null if there is none yet. */
  follow(job: JobRow): string | null {
    const followed = this.#followed.get(job.jobId)
    if (!followed?.isPending) this.#begin(job, followed?.message ?? null)
    return this.#followed.get(job.jobId)?.message ?? null
  }

  stop(): void {
    this.#stopping.abort()
  }

  #begin(job: JobRow, message: string | null): void {
    const { signal } = this.#stopping
    if (signal.aborted || !this.#makeRoom()) return
    const followed: Followed = { message, isPending: true }
    this.#followed.set(job.jobId, followed)
    const report = (progress: { message: string }) => {
      followed.message = progress.message
    }
    // A result that is saved here has not been delivered yet.
    const waiting = { signal, report, whenDelivered: () => {} }
    followJob(this.#agent, job, waiting).then(
      () => void this.#followed.delete(job.jobId),
      error => {
        followed.isPending = false
        const said = signal.aborted ? error : inWords(error, this.#agent, false)
        if (said instanceof ToolFailure) followed.message = said.facts.happened
      },
    )
  }

  /** Drops finished ones first; returns false if all are still running. */
  #makeRoom(): boolean {
    for (const [jobId, { isPending }] of this.#followed) {
      if (this.#followed.size < followedJobs) return true
      if (!isPending) this.#followed.delete(jobId)
    }
    return this.#followed.size < followedJobs
  }
}

/**
 * Polls, once per process, the jobs that earlier processes left running, and saves their results, because the service
 * does not keep media and answers forever. Callers that wait for such a job share the same polling.
 */
export function resumeJobs(agent: JobContext): { once(): void; stop(): void } {
  const { jobRows } = agent
  const stopping = new AbortController()
  const beganMs = agent.clock.now()
  let isBegun = false
  // A result that is saved here has not been delivered yet.
  const waiting = { signal: stopping.signal, report: () => {}, whenDelivered: () => {} }
  return {
    once() {
      if (isBegun || agent.pays === 'nothing') return
      const started = { afterMs: beganMs - resumedJobMs, beforeMs: beganMs }
      const running = jobRows.running(agent.client.address.baseUrl, started, resumedJobs)
      isBegun = true
      for (const { jobId, kind } of running) {
        // Callers that wait for it get the error.
        followJob(agent, { jobId, kind }, waiting).catch(() => {})
      }
    },
    stop: () => stopping.abort(),
  }
}

/** Polls a job until it has ended, and saves its result without delivering it. */
async function followJob(
  agent: JobContext,
  { jobId, kind }: Pick<JobRow, 'jobId' | 'kind'>,
  waiting: Waiting,
): Promise<void> {
  if (kind === 'call') await agent.callJobs.follow(jobId, resumedJobMs, waiting)
  else await new Jobs(agent, waiting, neverDelivered).wait(jobId, resumedJobMs)
}

const neverDelivered = () => Promise.reject(new Error('A call is followed, not delivered.'))
