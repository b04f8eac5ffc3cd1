import { createHash } from 'node:crypto'
import { isNoPrompt } from '#contract/operations/video.ts'
import { readImage } from '../images/image-file.ts'
import type { Carries, VideoChoice } from '../ports/engine.ts'
import type { VideoCall, VideoEngine } from '../ports/media-engines.ts'
import { mediaFormat, mimeTypes, shortSideOf, videoPlan } from '../video-media/request-media.ts'
import { ComfyJobs, type ComfyJobsOptions, type ComfyStage } from './jobs.ts'
import { type Placeholder, referencePlaces, type UploadedFile, type WorkflowValues } from './workflow.ts'

/** Videos by a workflow on a ComfyUI server; it saves an MP4. */
export class ComfyVideo extends ComfyJobs<VideoCall> implements VideoEngine {
  /** Throws a sentence where the address, the key or the workflow cannot be used. */
  constructor(options: ComfyJobsOptions) {
    super(options, { valuesOf, files: /\.mp4$/i, fileWord: 'MP4' })
  }

  readonly carries: Carries<VideoChoice> = (field, value) => {
    const has = (name: Placeholder) => this.workflow.names.has(name)
    const hasSize = has('width') && has('height')
    if (field === 'aspect_ratio') return has('aspect_ratio') || hasSize
    if (field === 'resolution') return has('resolution') || (hasSize && shortSideOf(value) !== null)
    if (field === 'reference_image_urls') {
      const least = Array.isArray(value) ? value.length : 1
      return referencePlaces.slice(0, least).every(has)
    }
    const place = placeOf[field]
    return place !== undefined && has(place)
  }
}

/** Where a field of a request stands in a workflow; the others have no place of their own. */
const placeOf: Partial<Record<VideoChoice, Placeholder>> = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  duration: 'seconds',
  upscale_factor: 'scale',
  audio: 'sound',
  image_url: 'image',
  end_image_url: 'end_image',
  audio_url: 'audio',
  video_url: 'video',
}

/** A sentence where a medium cannot be used. */
async function valuesOf(
  { request, engineModel, jobId }: VideoCall,
  { workflow, server }: ComfyStage,
  signal: AbortSignal,
): Promise<WorkflowValues | string> {
  const { width, height, seconds, audio } = videoPlan(request)
  const values: Partial<Record<Placeholder, string | number | boolean>> = {
    ...{ prompt: isNoPrompt(request.prompt) ? '' : request.prompt, negative_prompt: request.negative_prompt ?? '' },
    ...{ width, height, seconds, sound: audio, model: engineModel },
    // The same for a job that is begun anew.
    seed: createHash('sha256').update(jobId).digest().readUInt32BE(0),
    ...(request.aspect_ratio === undefined ? {} : { aspect_ratio: request.aspect_ratio }),
    ...(request.resolution === undefined ? {} : { resolution: request.resolution }),
    ...(request.upscale_factor === undefined ? {} : { scale: request.upscale_factor }),
  }
  for (const [place, field, url] of mediaOf(request)) {
    if (!workflow.names.has(place)) return `The engine has no place for ${field}.`
    const file = field.includes('image') ? imageOf(url) : mediumOf(url)
    if (typeof file === 'string') return `${field} cannot be used: ${file}.`
    values[place] = await server.upload(file, signal)
  }
  return values
}

type PlacedMedium = readonly [place: Placeholder, field: string, url: string]

function mediaOf(request: VideoCall['request']): PlacedMedium[] {
  const single = [
    ['image', 'image_url', request.image_url],
    ['end_image', 'end_image_url', request.end_image_url],
    ['audio', 'audio_url', request.audio_url],
    ['video', 'video_url', request.video_url],
  ] as const
  const references = (request.reference_image_urls ?? []).flatMap((url, index): PlacedMedium[] => {
    const place = referencePlaces[index]
    return place ? [[place, 'reference_image_urls', url]] : []
  })
  return [
    ...single.flatMap(([place, field, url]) => (url === undefined ? [] : [[place, field, url] as const])),
    ...references,
  ]
}

function imageOf(url: string): UploadedFile | string {
  const read = readImage(url)
  if (!read.ok) return read.problem
  const { type, bytes } = read.image
  return { extension: type, mimeType: `image/${type}`, bytes }
}

/** It was recognised and measured when the request was taken. */
function mediumOf(url: string): UploadedFile | string {
  const bytes = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  const format = mediaFormat(bytes)
  return format === null ? 'the format is unknown' : { extension: format, mimeType: mimeTypes[format], bytes }
}
