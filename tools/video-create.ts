import { z } from 'zod'
import { queueVideo, VideoQueueRequest } from '#contract/operations/video.ts'
import { imagesInCall } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { lengthAndPrompt, sources, videoChoices, videoMedia, withoutMedia } from '#toolkit/input/video-request.ts'
import { filesOf, JobOutput, jobOutput, runningJob, sayStarted, sayWhich } from '#toolkit/output/job.ts'
import { paidOutput, paidShape, sayPaid } from '#toolkit/output/paid.ts'
import { shownMedia } from '#toolkit/output/shown-media.ts'

export default defineTool({
  name: 'video_create',
  set: 'video',
  title: 'Create a video',
  description:
    'Starts a paid video job and returns its job_id at once; then call job_wait. Videos cost the most, so call estimate first. If an image shows a face, the user may be asked for consent.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    ...videoChoices,
    prompt: VideoQueueRequest.shape.prompt.optional().describe('What happens in the video.'),
    negative_prompt: VideoQueueRequest.shape.negative_prompt.describe('What to avoid.'),
    image: z.string().min(1).optional().describe('First frame: path or URL.'),
    end_image: z.string().min(1).optional().describe('Last frame.'),
    reference_images: sources(imagesInCall.reference).describe('Paths or URLs of what to show.'),
    reference_videos: sources(3).describe('Paths or URLs.'),
    reference_audio: sources(3).describe('Paths or URLs.'),
    scene_images: sources(4).describe('Paths or URLs of the scenes, in order.'),
    elements: z
      .array(
        z.strictObject({
          frontal_image: z.string().min(1).optional().describe('Path or URL.'),
          reference_images: sources(3).describe('Other views.'),
          video: z.string().min(1).optional().describe('Path or URL.'),
        }),
      )
      .max(4)
      .optional()
      .describe('Subjects to show, named @Element1 and so on in the prompt.'),
    audio_track: z.string().min(1).optional().describe('Path or URL of audio to follow.'),
    again: z
      .boolean()
      .optional()
      .describe(
        'true pays for another; otherwise a repeat within 10 minutes returns the same job until its file is saved.',
      ),
  }),
  modelType: 'video',
  app: 'media',
  sentAs: {
    image_url: 'image',
    end_image_url: 'end_image',
    audio_url: 'audio_track',
    video_url: 'video',
    reference_image_urls: 'reference_images',
    reference_video_urls: 'reference_videos',
    reference_audio_urls: 'reference_audio',
    scene_image_urls: 'scene_images',
    frontal_image_url: 'elements',
  },
  output: JobOutput.extend(paidShape),

  async run(context, { again, ...given }) {
    const { choices, media } = withoutMedia(given)
    const needed = await lengthAndPrompt(context, { ...choices, video: media.video }, ['duration', 'prompt'])
    const body = { ...choices, ...needed, ...(await videoMedia(context.files, media)) }
    const { job, paid } = await context.start(queueVideo, { params: undefined, query: undefined, body }, { again })
    return { ...jobOutput(job), ...paidOutput(paid) }
  },

  say: output => `${sayStarted(output, output.already_paid === true)} ${sayPaid(output)} ${sayWhich(output)}`,
  // A repeated call may find its job finished.
  files: filesOf,
  shows: ({ file }, { context }) => shownMedia(file ? [file] : [], { context, input: {} }),
  goesOnAs: runningJob,
})
