import type { FaceMediaRole } from './failures.ts'
import type { VideoMediaField, VideoQueueRequest } from './video.ts'

/** A medium of a video request, where it stands in there (brief §2.6). */
export interface RequestMedium {
  path: readonly [VideoMediaField, ...(string | number)[]]
  url: string
  kind: 'image' | 'video' | 'audio'
  /** Null for what shows nobody. */
  role: FaceMediaRole | null
}

/** Every medium of a request, in the order of the brief's table. Those that a face may be in have the contract's role. */
export function mediaOfRequest(request: VideoQueueRequest): RequestMedium[] {
  const media: RequestMedium[] = []
  const add = (path: RequestMedium['path'], url: string | undefined, rest: Pick<RequestMedium, 'kind' | 'role'>) => {
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
