import { z } from 'zod'
import { zeroUsd } from '#contract/money.ts'
import { modelsNamed } from '#contract/operations/models.ts'
import {
  noPrompt,
  UpscaleFactor,
  VideoAspectRatio,
  VideoDuration,
  type VideoQueueRequest,
  VideoResolution,
} from '#contract/operations/video.ts'
import { choiceNames } from '../bounds.ts'
import type { FileStore, MediaKind, ToolContext } from '../tool-context.ts'
import { ToolFailure } from '../tool-failure.ts'
import { untrustedId, untrustedName } from '../values/untrusted.ts'

/**
 * What a video's price depends on. The listing shows plain strings, because a model's own record says which of the many
 * values it accepts; a call is validated against all of them.
 */
export const videoChoices = {
  model: z.string().min(1).describe('Id from models_find.'),
  duration: z.string().pipe(VideoDuration).optional().describe('Such as 5s; not for upscalers.'),
  aspect_ratio: z.string().pipe(VideoAspectRatio).optional().describe('Such as 16:9.'),
  resolution: z.string().pipe(VideoResolution).optional().describe('Such as 720p.'),
  upscale_factor: z.number().pipe(UpscaleFactor).optional().describe('1, 2 or 4: for upscalers, with video.'),
  audio: z.boolean().optional().describe('Default true, if the model supports audio.'),
  video: z.string().min(1).optional().describe('Path or URL of a source video.'),
}

interface Given {
  model: string
  duration?: VideoDuration | undefined
  prompt?: string | undefined
  video?: string | undefined
}

/**
 * Fills in the duration and prompt that the contract requires. An upscaler has neither; an empty list of durations in
 * its record shows that, or without a record, the given video. Throws `ToolFailure` if any other model lacks one that
 * is `needed`.
 */
export async function lengthAndPrompt(
  context: Pick<ToolContext, 'models'>,
  { model, duration, prompt, video }: Given,
  needed: readonly ('duration' | 'prompt')[],
): Promise<{ duration: VideoDuration; prompt: string }> {
  const missing = needed.filter(name => ({ duration, prompt })[name] === undefined)
  if (missing.length > 0) {
    const records = await context.models().catch(() => [])
    const constraints = modelsNamed(records, 'video', model)[0]?.model_spec.constraints
    const durations = constraints && 'durations' in constraints ? constraints.durations : undefined
    const isUpscaler = durations ? durations.length === 0 : video !== undefined
    if (!isUpscaler) throw misses(model, missing, durations)
  }
  return { duration: duration ?? 'Auto', prompt: prompt ?? noPrompt }
}

function misses(model: string, missing: readonly string[], durations: readonly string[] = []): ToolFailure {
  const taken =
    durations.length > 0
      ? ` It accepts duration ${durations
          .slice(0, choiceNames)
          .map(each => untrustedName(each))
          .join(', ')}.`
      : ''
  const names = missing.map(name => `\`${name}\``).join(' and ')
  return new ToolFailure({
    happened: `A video by ${untrustedId(model)} needs ${names}; only upscalers do not.`,
    charged: zeroUsd,
    next: `Call again with ${names}.${missing.includes('duration') ? taken : ''}`,
  })
}

/** A list of paths or URLs, up to this many. */
export const sources = (most: number) => z.array(z.string().min(1)).max(most).optional()

interface ElementGiven {
  frontal_image?: string | undefined
  reference_images?: string[] | undefined
  video?: string | undefined
}

/** The media of a video request (brief §2.6), as given to a tool. */
interface VideoMediaGiven {
  image?: string | undefined
  end_image?: string | undefined
  audio_track?: string | undefined
  video?: string | undefined
  reference_images?: string[] | undefined
  reference_videos?: string[] | undefined
  reference_audio?: string[] | undefined
  scene_images?: string[] | undefined
  elements?: ElementGiven[] | undefined
}

export function withoutMedia<Given extends VideoMediaGiven>(given: Given) {
  const { image, end_image, audio_track, video, ...rest } = given
  const { reference_images, reference_videos, reference_audio, scene_images, elements, ...choices } = rest
  const lists = { reference_images, reference_videos, reference_audio, scene_images, elements }
  return { choices, media: { image, end_image, audio_track, video, ...lists } satisfies VideoMediaGiven }
}

type RequestMedia = Pick<
  VideoQueueRequest,
  | 'image_url'
  | 'end_image_url'
  | 'audio_url'
  | 'video_url'
  | 'reference_image_urls'
  | 'reference_video_urls'
  | 'reference_audio_urls'
  | 'scene_image_urls'
  | 'elements'
>

/** Returns the media as a request contains them: files as data URLs, addresses unchanged. */
export async function videoMedia(files: FileStore, given: VideoMediaGiven): Promise<RequestMedia> {
  const one = async (source: string | undefined, kind: MediaKind) =>
    source === undefined ? undefined : files.asMediaUrl(source, kind)
  const several = async (list: readonly string[] | undefined, kind: MediaKind) =>
    list && Promise.all(list.map(source => files.asMediaUrl(source, kind)))
  const [image_url, end_image_url, audio_url, video_url] = await Promise.all([
    one(given.image, 'image'),
    one(given.end_image, 'image'),
    one(given.audio_track, 'audio'),
    one(given.video, 'video'),
  ])
  const [reference_image_urls, reference_video_urls, reference_audio_urls, scene_image_urls] = await Promise.all([
    several(given.reference_images, 'image'),
    several(given.reference_videos, 'video'),
    several(given.reference_audio, 'audio'),
    several(given.scene_images, 'image'),
  ])
  const elements =
    given.elements &&
    (await Promise.all(
      given.elements.map(async ({ frontal_image, reference_images, video }) => ({
        frontal_image_url: await one(frontal_image, 'image'),
        reference_image_urls: await several(reference_images, 'image'),
        video_url: await one(video, 'video'),
      })),
    ))
  const singles = { image_url, end_image_url, audio_url, video_url, elements }
  return { ...singles, reference_image_urls, reference_video_urls, reference_audio_urls, scene_image_urls }
}
