import type { VideoQueueRequest, VideoQuoteRequest } from '#contract/video.ts'
import { modelChosenSeconds } from './bounds.ts'
import type { VideoModel } from './model.ts'

/** What a request comes to once the model's defaults stand in for what it leaves out. */
export interface VideoSettings {
  seconds: number
  /** Null where the model has no choice. */
  resolution: string | null
  aspectRatio: string | null
  audio: boolean
}

/** The first value of a model's list is its default; sound is on unless told otherwise (brief §2.6). */
export function videoSettings(
  model: Pick<VideoModel, 'constraints'>,
  request: Pick<VideoQueueRequest | VideoQuoteRequest, 'duration' | 'resolution' | 'aspect_ratio' | 'audio'>,
): VideoSettings {
  const { resolutions, aspect_ratios: ratios, audio, audio_configurable: configurable } = model.constraints
  return {
    seconds: secondsOf(request.duration),
    resolution: resolutions.length ? (request.resolution ?? resolutions[0] ?? null) : null,
    aspectRatio: ratios.length ? (request.aspect_ratio ?? ratios[0] ?? null) : null,
    audio: audio && (!configurable || request.audio !== false),
  }
}

/** `8s` is 8; a model that decides itself makes a video of one known length. */
export const secondsOf = (duration: string): number => Number(/^(\d+)s$/.exec(duration)?.[1] ?? modelChosenSeconds)

/** A request that says all of it, so that the engine draws what was priced. */
export function settledRequest(model: Pick<VideoModel, 'constraints'>, request: VideoQueueRequest): VideoQueueRequest {
  const { resolution, aspectRatio, audio } = videoSettings(model, request)
  const settled = { ...request, audio }
  if (resolution !== null) settled.resolution = resolution as VideoQueueRequest['resolution']
  if (aspectRatio !== null) settled.aspect_ratio = aspectRatio as VideoQueueRequest['aspect_ratio']
  return settled
}
