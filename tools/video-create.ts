import { z } from 'zod'
import { queueVideo, VideoQueueRequest } from '#contract/video.ts'
import { pictures } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define-tool.ts'
import { filesOf, JobOutput, jobOutput, runningJob, sayStarted } from '#toolkit/job-output.ts'
import { paidOutput, paidShape, sayPaid } from '#toolkit/paid.ts'
import type { FileDesk } from '#toolkit/tool-context.ts'
import { lengthAndPrompt, videoChoices } from '#toolkit/video-choices.ts'

export default defineTool({
  name: 'video_create',
  set: 'video',
  title: 'Create a video',
  description:
    'Starts a paid video job and returns its job_id at once; then call job_wait. A picture with a face may need the person’s consent, which is asked for.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    ...videoChoices,
    prompt: VideoQueueRequest.shape.prompt.optional(),
    negative_prompt: VideoQueueRequest.shape.negative_prompt,
    image: z.string().min(1).optional().describe('First frame: path or URL.'),
    end_image: z.string().min(1).optional().describe('Last frame.'),
    reference_images: z.array(z.string().min(1)).max(pictures.reference).optional(),
    audio_track: z.string().min(1).optional().describe('Path or URL of sound to follow.'),
    again: z
      .boolean()
      .optional()
      .describe('true buys another; else a repeat within 10 minutes returns the unsaved job.'),
  }),
  modelType: 'video',
  sentAs: {
    image_url: 'image',
    end_image_url: 'end_image',
    audio_url: 'audio_track',
    video_url: 'video',
    reference_image_urls: 'reference_images',
  },
  output: JobOutput.extend(paidShape),

  async run(context, { again, image, end_image, reference_images, audio_track, video, ...choices }) {
    const needed = await lengthAndPrompt(context, { ...choices, video }, ['duration', 'prompt'])
    const [image_url, end_image_url, audio_url, video_url, reference_image_urls] = await Promise.all([
      mediaUrl(context.files, image, 'image'),
      mediaUrl(context.files, end_image, 'image'),
      mediaUrl(context.files, audio_track, 'audio'),
      mediaUrl(context.files, video, 'video'),
      reference_images && Promise.all(reference_images.map(source => context.files.asMediaUrl(source, 'image'))),
    ])
    const body = { ...choices, ...needed, image_url, end_image_url, audio_url, video_url, reference_image_urls }
    const { job, paid } = await context.start(queueVideo, { params: undefined, query: undefined, body }, { again })
    return { ...jobOutput(job), ...paidOutput(paid) }
  },

  say: output => `${sayStarted(output, output.already_paid === true)} ${sayPaid(output)}`,
  // A call that is repeated may find its job done.
  files: filesOf,
  goesOnAs: runningJob,
})

const mediaUrl = async (files: FileDesk, source: string | undefined, kind: 'image' | 'video' | 'audio') =>
  source === undefined ? undefined : files.asMediaUrl(source, kind)
