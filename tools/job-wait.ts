import { z } from 'zod'
import { longestWaitSeconds } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { previewArgument } from '#toolkit/input/arguments.ts'
import { filesOf, JobOutput, jobOutput, runningJob, sayWaitedJob } from '#toolkit/output/job.ts'
import { shownMedia } from '#toolkit/output/shown-media.ts'

export default defineTool({
  name: 'job_wait',
  set: 'core',
  title: 'Wait for a job',
  description:
    'Waits for a job; returns its answer or its saved file. If it is still running, call again; never start the job a second time. Needs a wallet or key. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    job_id: z.string().min(1).describe('From the tool that started it, or job_list.'),
    wait_seconds: z
      .number()
      .int()
      .min(0)
      .max(longestWaitSeconds)
      .default(longestWaitSeconds)
      .describe('0 checks without waiting.'),
    preview: previewArgument.describe('true also shows a frame of a video; false shows nothing.'),
  }),
  app: 'media',
  output: JobOutput,

  run: async (context, { job_id, wait_seconds }) => jobOutput(await context.jobs.wait(job_id, wait_seconds * 1000)),
  say: sayWaitedJob,
  files: filesOf,
  shows: ({ file }, call) => shownMedia(file ? [file] : [], call),
  // A caller that does not wait wants the current state.
  goesOnAs: (job, { wait_seconds }) => (wait_seconds === 0 ? null : runningJob(job)),
})
