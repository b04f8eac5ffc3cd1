import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { AgentDesks } from '../agent-desks.ts'
import { followedJobs } from '../bounds.ts'
import { followJob } from './follow-job.ts'
import type { JobRow } from './job-rows.ts'

/** `message` is what was last heard of it. */
interface Followed {
  message: string | null
  isUnderWay: boolean
}

/**
 * Running jobs that somebody looks at now and then: each is followed once in a process, so that looking asks no service and
 * a long download does not hold up a look. Nothing else is kept here; what broke off is begun again by the next look.
 */
export class FollowedJobs {
  readonly #desks: AgentDesks
  readonly #stopping = new AbortController()
  /** The one begun longest ago first. */
  readonly #followed = new Map<string, Followed>()

  constructor(desks: AgentDesks) {
    this.#desks = desks
  }

  /** What was last heard of it; null where that is nothing yet. */
  follow(job: JobRow): string | null {
    const followed = this.#followed.get(job.jobId)
    if (!followed?.isUnderWay) this.#begin(job, followed?.message ?? null)
    return this.#followed.get(job.jobId)?.message ?? null
  }

  stop(): void {
    this.#stopping.abort()
  }

  #begin(job: JobRow, message: string | null): void {
    const { signal } = this.#stopping
    if (signal.aborted || !this.#makeRoom()) return
    const followed: Followed = { message, isUnderWay: true }
    this.#followed.set(job.jobId, followed)
    const report = (progress: { message: string }) => {
      followed.message = progress.message
    }
    // What is saved here has reached nobody yet.
    const waiting = { signal, report, whenDelivered: () => {} }
    this.#desks
      .worded(false, signal, () => followJob(this.#desks, job, waiting))
      .then(
        () => void this.#followed.delete(job.jobId),
        error => {
          followed.isUnderWay = false
          if (error instanceof ToolFailure) followed.message = error.facts.happened
        },
      )
  }

  /** What is not under way any more is forgotten first; false where all are. */
  #makeRoom(): boolean {
    for (const [jobId, { isUnderWay }] of this.#followed) {
      if (this.#followed.size < followedJobs) return true
      if (!isUnderWay) this.#followed.delete(jobId)
    }
    return this.#followed.size < followedJobs
  }
}
