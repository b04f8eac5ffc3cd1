import { resumedJobMs, resumedJobs } from '../bounds.ts'
import { followJob } from './follow-job.ts'
import type { JobWorld } from './job-desk.ts'

/**
 * Asks, once in a process, after the jobs that earlier ones left running, and saves what they made: media and answers at
 * the service do not wait for ever for somebody who asks. Whoever waits for such a job meanwhile waits for the same one.
 */
export function resumeJobs(world: JobWorld): { once(): void; stop(): void } {
  const { core, jobRows } = world
  const stopping = new AbortController()
  const beganMs = core.clock.now()
  let isBegun = false
  // What is saved here has reached nobody yet.
  const waiting = { signal: stopping.signal, report: () => {}, whenDelivered: () => {} }
  return {
    once() {
      if (isBegun || core.pays === 'nothing') return
      isBegun = true
      const started = { afterMs: beganMs - resumedJobMs, beforeMs: beganMs }
      for (const { jobId, kind } of jobRows.running(core.client.address.baseUrl, started, resumedJobs)) {
        // Whoever waits for it is told what stands in its way.
        followJob(world, { jobId, kind }, waiting).catch(() => {})
      }
    },
    stop: () => stopping.abort(),
  }
}
