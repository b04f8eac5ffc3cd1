import { z } from 'zod'
import {
  ContentViolation,
  type FaceMediaRole,
  jobFailures,
  NeedsConsent,
  ProviderContentPolicy,
  paidFailures,
  paidModelFailures,
  StandardError,
} from '../errors/failures.ts'
import { listOf, recordOf } from '../schemas.ts'
import { defineOperation } from './operation.ts'

/** Seconds (brief §2.6); `1 gen` and `Auto` are for models that decide themselves. */
export const VideoDuration = z.enum([
  '2s',
  '3s',
  '4s',
  '5s',
  '6s',
  '7s',
  '8s',
  '9s',
  '10s',
  '11s',
  '12s',
  '13s',
  '14s',
  '15s',
  '16s',
  '18s',
  '20s',
  '25s',
  '30s',
  '1 gen',
  'Auto',
])
export type VideoDuration = z.output<typeof VideoDuration>

export const VideoAspectRatio = z.enum([
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '9:21',
  '16:9',
  '21:9',
])
export type VideoAspectRatio = z.output<typeof VideoAspectRatio>

export const VideoResolution = z.enum([
  '256p',
  '360p',
  '480p',
  '540p',
  '580p',
  '720p',
  '1080p',
  '1440p',
  '2160p',
  '4k',
  '2x',
  '4x',
  'true_1080p',
])
export type VideoResolution = z.output<typeof VideoResolution>

/** 1 enhances quality, 2 doubles, 4 quadruples. */
export const UpscaleFactor = z.literal([1, 2, 4]).meta({ type: 'integer' })
export type UpscaleFactor = z.output<typeof UpscaleFactor>

// Accepts any case without a regex flag, which the description could not express.
const mediaUrl = (kind: 'image' | 'audio' | 'video') =>
  z
    .string()
    .regex(
      new RegExp(`^([Hh][Tt][Tt][Pp][Ss]?://|[Dd][Aa][Tt][Aa]:${kind}/)`),
      `an http(s) URL or a data URL (data:${kind}/…)`,
    )

/** Where media come from (brief §2.6): a web URL, or a data URL of the right kind, such as `data:image/…`. */
export const ImageUrl = mediaUrl('image')
export const AudioUrl = mediaUrl('audio')
export const VideoUrl = mediaUrl('video')

/** Accepts no unknown member and no false value, because it is the user's declaration (brief §3.2). */
export const ConsentAttestation = z.strictObject({
  confirmed_terms_and_privacy: z.literal(true),
  confirmed_legal_right: z.literal(true),
  confirmed_screening_acknowledged: z.literal(true),
})
export type ConsentAttestation = z.output<typeof ConsentAttestation>

/** The media that a request may contain besides its prompt (brief §2.6). */
export const videoMediaFields = [
  'image_url',
  'end_image_url',
  'audio_url',
  'video_url',
  'reference_image_urls',
  'reference_video_urls',
  'reference_audio_urls',
  'elements',
  'scene_image_urls',
] as const
export type VideoMediaField = (typeof videoMediaFields)[number]

/** Replaces the prompt of an upscaler, which has no prompt: an invisible character that no user types. */
export const noPrompt = '\u2060'
export const isNoPrompt = (prompt: string): boolean => prompt === noPrompt

/** Marks a request whose duration was filled in here: only an upscaler does not need one. */
const omittedDuration = 'duration_omitted'
export const omitsDuration = (request: Readonly<Record<string, unknown>>): boolean => request[omittedDuration] === true

/**
 * An upscale request may omit the duration, which is detected, and the prompt, which is not used
 * (published contract §4.2). The model's record says whether it is an upscaler.
 */
function withUpscaleDefaults(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('video_url' in body)) return body
  return {
    ...('prompt' in body ? {} : { prompt: noPrompt }),
    ...body,
    ...('duration' in body ? {} : { duration: 'Auto', [omittedDuration]: true }),
  }
}

const orUpscale = <Schema extends z.ZodType>(schema: Schema): Schema =>
  z.preprocess(withUpscaleDefaults, schema) as unknown as Schema

const priceInputs = {
  duration: VideoDuration,
  aspect_ratio: VideoAspectRatio.optional(),
  resolution: VideoResolution.optional(),
  upscale_factor: UpscaleFactor.optional(),
  audio: z.boolean().optional(),
  video_url: VideoUrl.optional(),
}

/** Brief §2.6. A model may set lower maxima, which are checked against its record. */
export const VideoQueueRequest = z
  .looseObject({
    model: z.string().min(1),
    prompt: z.string().min(1).max(10_000),
    ...priceInputs,
    negative_prompt: z.string().max(10_000).optional(),
    consents: recordOf(ConsentAttestation).optional(),
    image_url: ImageUrl.optional(),
    end_image_url: ImageUrl.optional(),
    audio_url: AudioUrl.optional(),
    reference_image_urls: listOf(ImageUrl).max(9).optional(),
    reference_video_urls: listOf(VideoUrl).max(3).optional(),
    reference_audio_urls: listOf(AudioUrl).max(3).optional(),
    elements: listOf(
      z.looseObject({
        frontal_image_url: ImageUrl.optional(),
        reference_image_urls: listOf(ImageUrl).max(3).optional(),
        video_url: VideoUrl.optional(),
      }),
    )
      .max(4)
      .optional(),
    scene_image_urls: listOf(ImageUrl).max(4).optional(),
  })
  .check(context => {
    const { reference_audio_urls: audio, reference_image_urls: images, reference_video_urls: videos } = context.value
    if (audio?.length && !images?.length && !videos?.length) {
      context.issues.push({
        code: 'custom',
        path: ['reference_audio_urls'],
        message: 'needs at least one reference image or reference video as well',
        input: audio,
      })
    }
  })
  .meta({ id: 'QueueVideoRequest' })
export type VideoQueueRequest = z.output<typeof VideoQueueRequest>

/** Brief §2.7. With `download_url`, the retrieve operation answers only with JSON. */
export const VideoQueued = z
  .strictObject({ model: z.string(), queue_id: z.string(), download_url: z.string().optional() })
  .meta({ id: 'QueueVideoResponse' })

export const queueVideo = defineOperation({
  id: 'queueVideo',
  method: 'POST',
  path: '/video/queue',
  tag: 'Video',
  summary: 'Queue a video; charged at its quote, refunded once if it fails',
  auth: ['apiKey', 'wallet'],
  charge: 'quote',
  limit: 'video.queue',
  request: { body: orUpscale(VideoQueueRequest) },
  answer: { json: VideoQueued },
  failures: { ...paidModelFailures, 409: NeedsConsent, 422: ContentViolation, 504: StandardError },
})

/** The members of a queue request that decide its price, without the prompt. */
export const VideoQuoteRequest = z
  .looseObject({
    model: z.string().min(1),
    ...priceInputs,
    reference_video_total_duration: z.number().min(0).optional(),
  })
  .meta({ id: 'QuoteVideoRequest' })
export type VideoQuoteRequest = z.output<typeof VideoQuoteRequest>

export const VideoQuote = z.strictObject({ quote: z.number() }).meta({ id: 'QuoteVideoResponse' })

export const quoteVideo = defineOperation({
  id: 'quoteVideo',
  method: 'POST',
  path: '/video/quote',
  tag: 'Video',
  summary: 'Price of a video request, in USD',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'read',
  request: { body: orUpscale(VideoQuoteRequest) },
  answer: { json: VideoQuote },
  failures: { ...paidModelFailures, 422: ContentViolation, 429: StandardError, 500: StandardError },
})

export const VideoRetrieveRequest = z
  .looseObject({
    model: z.string().min(1),
    queue_id: z.string().min(1),
    delete_media_on_completion: z.boolean().default(false),
  })
  .meta({ id: 'RetrieveVideoRequest' })

/** Both times in milliseconds. Failure is not a state but an error answer (brief §3.1). */
export const VideoStatus = z
  .strictObject({
    status: z.enum(['PROCESSING', 'COMPLETED']),
    average_execution_time: z.number(),
    execution_duration: z.number(),
  })
  .meta({ id: 'RetrieveVideoResponse' })
export type VideoStatus = z.output<typeof VideoStatus>

export const retrieveVideo = defineOperation({
  id: 'retrieveVideo',
  method: 'POST',
  path: '/video/retrieve',
  tag: 'Video',
  summary: 'Poll a queued video; the finished one is returned as bytes unless it has a download URL',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'video.retrieve',
  request: { body: VideoRetrieveRequest },
  answer: { json: VideoStatus, bytes: 'video/mp4' },
  failures: { ...jobFailures, 403: StandardError, 404: StandardError, 422: ProviderContentPolicy },
})

export const VideoCompleteRequest = z
  .looseObject({ model: z.string().min(1), queue_id: z.string().min(1) })
  .meta({ id: 'CompleteVideoRequest' })

export const VideoDeleted = z.strictObject({ success: z.boolean() }).meta({ id: 'CompleteVideoResponse' })

export const completeVideo = defineOperation({
  id: 'completeVideo',
  method: 'POST',
  path: '/video/complete',
  tag: 'Video',
  summary: 'Delete the stored media of a finished video',
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'video.retrieve',
  request: { body: VideoCompleteRequest },
  answer: { json: VideoDeleted },
  failures: jobFailures,
})

/** A media file in a video request, and where it is (brief §2.6). */
export interface RequestMediaItem {
  path: readonly [VideoMediaField, ...(string | number)[]]
  url: string
  kind: 'image' | 'video' | 'audio'
  /** Null if it cannot show a face. */
  role: FaceMediaRole | null
}

/**
 * Returns every media file of a request, in the published order. Those that may show a face have the contract's role.
 */
export function mediaOfRequest(request: VideoQueueRequest): RequestMediaItem[] {
  const media: RequestMediaItem[] = []
  const add = (
    path: RequestMediaItem['path'],
    url: string | undefined,
    rest: Pick<RequestMediaItem, 'kind' | 'role'>,
  ) => {
    if (url !== undefined) media.push({ path, url, ...rest })
  }
  add(['image_url'], request.image_url, { kind: 'image', role: 'image' })
  add(['end_image_url'], request.end_image_url, { kind: 'image', role: 'end_image' })
  add(['audio_url'], request.audio_url, { kind: 'audio', role: null })
  add(['video_url'], request.video_url, { kind: 'video', role: 'video' })
  for (const [field, rest] of lists) {
    for (const [index, url] of (request[field] ?? []).entries()) add([field, index], url, rest)
  }
  for (const [index, element] of (request.elements ?? []).entries()) {
    const at = ['elements', index] as const
    add([...at, 'frontal_image_url'], element.frontal_image_url, referenceImage)
    for (const [place, url] of (element.reference_image_urls ?? []).entries()) {
      add([...at, 'reference_image_urls', place], url, referenceImage)
    }
    add([...at, 'video_url'], element.video_url, referenceVideo)
  }
  return media
}

const referenceImage = { kind: 'image', role: 'reference_image' } as const
const referenceVideo = { kind: 'video', role: 'reference_video' } as const

const lists = [
  ['reference_image_urls', referenceImage],
  ['reference_video_urls', referenceVideo],
  ['reference_audio_urls', { kind: 'audio', role: null }],
  ['scene_image_urls', referenceImage],
] as const

/** Transcribes the speech in a video (published contract §4.6). */

export const VideoTranscriptionRequest = z
  .looseObject({ url: z.string().min(1).max(8_192), response_format: z.enum(['json', 'text']).default('json') })
  .meta({ id: 'CreateVideoTranscriptionRequest' })
export type VideoTranscriptionRequest = z.output<typeof VideoTranscriptionRequest>

export const VideoTranscript = z
  .strictObject({ transcript: z.string(), lang: z.string().optional() })
  .meta({ id: 'VideoTranscript' })
export type VideoTranscript = z.output<typeof VideoTranscript>

export const createVideoTranscription = defineOperation({
  id: 'createVideoTranscription',
  method: 'POST',
  path: '/video/transcriptions',
  tag: 'Video',
  summary: 'Transcribe a video',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'augment',
  request: { body: VideoTranscriptionRequest },
  answer: { json: VideoTranscript, bytes: 'text/plain' },
  failures: { ...paidFailures, 415: StandardError },
})
