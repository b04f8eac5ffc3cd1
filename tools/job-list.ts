import { z } from 'zod'
import { listRows } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { JobOutput, jobOutput, sayListedJob } from '#toolkit/output/job.ts'

export default defineTool({
  name: 'job_list',
  set: 'core',
  title: 'List jobs',
  description:
    'Lists jobs started here, newest first, with saved files. Use it to find a job_id; to wait for a job, use job_wait. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    limit: z.number().int().min(1).max(listRows.maximum).default(listRows.default).describe('Rows, newest first.'),
  }),
  output: z.object({ jobs: z.array(JobOutput) }),

  run: async (context, { limit }) => ({ jobs: (await context.jobs.list(limit)).slice(0, limit).map(jobOutput) }),
  say: ({ jobs }) =>
    jobs.length === 0 ? 'There are no jobs yet.' : jobs.map(job => `- ${sayListedJob(job)}`).join('\n'),
})
