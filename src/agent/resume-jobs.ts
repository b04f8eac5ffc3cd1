import { resumedJobMs, resumedJobs } from './bounds.ts'
import type { Core } from './core.ts'
import { Jobs } from './job-desk.ts'
import type { JobRows } from './job-rows.ts'

/**
 * Asks, once in a process, after the jobs that earlier ones left running, and saves what they made: media at the service
 * do not wait for ever for somebody who asks. Whoever waits for such a job meanwhile waits for the same file.
 */
export function resumeJobs(core: Core, rows: JobRows): { once(): void; stop(): void } {
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
      for (const { jobId } of rows.running(core.client.address.baseUrl, started, resumedJobs)) {
        // Whoever waits for it is told what stands in its way.
        new Jobs(core, rows, waiting).wait(jobId, resumedJobMs).catch(() => {})
      }
    },
    stop: () => stopping.abort(),
  }
}
