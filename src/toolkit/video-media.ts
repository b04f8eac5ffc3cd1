import { z } from 'zod'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { FileDesk, MediaKind } from './tool-context.ts'

/** Paths or URLs, so many at most. */
export const sources = (most: number) => z.array(z.string().min(1)).max(most).optional()

interface ElementGiven {
  frontal_image?: string | undefined
  reference_images?: string[] | undefined
  video?: string | undefined
}

/** The media of a video request (brief §2.6), as a tool is given them. */
export interface VideoMediaGiven {
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

/** What is chosen beside the media. */
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

/** The same as a request names them: files as data URLs, addresses as they are. */
export async function videoMedia(files: FileDesk, given: VideoMediaGiven): Promise<RequestMedia> {
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
