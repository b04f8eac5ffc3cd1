import { z } from 'zod'
import { defineTool } from '#toolkit/define.ts'
import { JobOutput, jobOutput } from '#toolkit/output/job.ts'

export default defineTool({
  name: 'job_delete',
  set: 'core',
  title: "Delete a job's file",
  description:
    'Deletes a finished job’s file at the service; the file saved here stays. It neither stops a job nor refunds it. Free.',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({ job_id: z.string().min(1).describe('From job_list.') }),
  output: JobOutput.pick({ job_id: true, state: true }),

  run: async (context, { job_id }) => jobOutput(await context.jobs.delete(job_id)),
  say: ({ job_id, state }) =>
    state === 'deleted'
      ? `The file of job ${job_id} was deleted at the service.`
      : `Job ${job_id} failed, so the service has no file for it.`,
})
