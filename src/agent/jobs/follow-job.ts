import { resumedJobMs } from '../bounds.ts'
import { Jobs, type JobWorld, type Waiting } from './job-desk.ts'
import type { JobRow } from './job-rows.ts'

/** Asks after a job until it has ended, and keeps what it made; nobody is told the result here. */
export async function followJob(
  world: JobWorld,
  { jobId, kind }: Pick<JobRow, 'jobId' | 'kind'>,
  waiting: Waiting,
): Promise<void> {
  if (kind === 'call') await world.callJobs.follow(jobId, resumedJobMs, waiting)
  else await new Jobs(world, waiting, nobodyIsThere).wait(jobId, resumedJobMs)
}

const nobodyIsThere = () => Promise.reject(new Error('A call is followed, not delivered.'))
