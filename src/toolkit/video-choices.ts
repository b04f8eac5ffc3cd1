import { z } from 'zod'
import { UpscaleFactor, VideoAspectRatio, VideoDuration, VideoResolution } from '#contract/video.ts'

/**
 * What a video's price depends on. The listing shows plain strings, because a model's own record says which of the many
 * values it takes; a call is checked against all of them.
 */
export const videoChoices = {
  model: z.string().min(1).describe('Id from models_find.'),
  duration: z.string().pipe(VideoDuration).describe('Such as 5s; see models_find.'),
  aspect_ratio: z.string().pipe(VideoAspectRatio).optional().describe('Such as 16:9.'),
  resolution: z.string().pipe(VideoResolution).optional().describe('Such as 720p.'),
  upscale_factor: z.number().pipe(UpscaleFactor).optional().describe('1, 2 or 4: for upscalers, with video.'),
  audio: z.boolean().optional(),
  video: z.string().min(1).optional().describe('Path or URL of a source video.'),
}
