import { z } from 'zod'
import { AudioQueueRequest, queueAudio } from '#contract/operations/audio.ts'
import { defineTool } from '#toolkit/define.ts'
import { againArgument, plainNumber, plainText } from '#toolkit/input/arguments.ts'
import { filesOf, JobOutput, jobOutput, runningJob, sayStarted, sayWhich } from '#toolkit/output/job.ts'
import { paidOutput, paidShape, sayPaid } from '#toolkit/output/paid.ts'
import { shownMedia } from '#toolkit/output/shown-media.ts'

const asked = AudioQueueRequest.shape

export default defineTool({
  name: 'music_create',
  set: 'audio',
  title: 'Create music',
  description:
    'Starts a paid job for music or other audio and returns its job_id at once; then call job_wait. For speech, use speech_create.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    model: z.string().min(1).describe('Of type music, from models_find.'),
    prompt: plainText(asked.prompt).describe('The style and mood.'),
    duration_seconds: plainNumber(z.number().int().min(1).max(999_999)).optional().describe('Changes the price.'),
    lyrics_prompt: plainText(asked.lyrics_prompt).optional().describe('The lyrics.'),
    force_instrumental: z.boolean().optional().describe('true for no singing.'),
    voice: plainText(asked.voice).optional().describe('From models_find.'),
    language_code: plainText(asked.language_code).optional().describe('Such as en.'),
    speed: plainNumber(asked.speed).optional().describe('1 is normal.'),
    again: againArgument,
  }),
  modelType: 'music',
  app: 'media',
  output: JobOutput.extend(paidShape),

  async run(context, { again, ...body }) {
    const { job, paid } = await context.start(queueAudio, { params: undefined, query: undefined, body }, { again })
    return { ...jobOutput(job), ...paidOutput(paid) }
  },

  say: output => `${sayStarted(output, output.already_paid === true)} ${sayPaid(output)} ${sayWhich(output)}`,
  // A repeated call may find its job finished.
  files: filesOf,
  shows: ({ file }, { context }) => shownMedia(file ? [file] : [], { context, input: {} }),
  goesOnAs: runningJob,
})
