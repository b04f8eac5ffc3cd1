import type { FaceMediaRole } from '#contract/failures.ts'
import type { VideoQueueRequest } from '#contract/video.ts'
import * as bounds from './bounds.ts'
import { upscaledSeconds } from './bounds.ts'
import { type MediaFormat, soundFormats, videoFormats } from './media-format.ts'

/** What a medium of one field may be (brief §2.6). */
export type MediumRule =
  | { kind: 'image' }
  | { kind: 'video' | 'audio'; formats: readonly MediaFormat[]; mostBytes: number; least: number; most: number }

/** A medium of a request, where it stands in there. */
export interface NamedMedium {
  path: readonly (string | number)[]
  url: string
  rule: MediumRule
  /** Null for what shows nobody. */
  role: FaceMediaRole | null
}

const picture: MediumRule = { kind: 'image' }
const video: MediumRule = {
  kind: 'video',
  formats: videoFormats,
  mostBytes: bounds.videoBytes,
  least: 0,
  most: upscaledSeconds,
}
const referenceVideo: MediumRule = {
  kind: 'video',
  formats: ['mp4', 'mov'],
  mostBytes: bounds.referenceVideoBytes,
  ...bounds.referenceSeconds,
}
const music: MediumRule = {
  kind: 'audio',
  formats: soundFormats,
  mostBytes: bounds.soundBytes,
  least: 0,
  most: bounds.musicSeconds,
}
const referenceSound: MediumRule = { ...music, ...bounds.referenceSeconds }

/** Every medium of a request, in the order of the brief's table. Those that a face may be in have the contract's role. */
export function namedMedia(request: VideoQueueRequest): NamedMedium[] {
  const media: NamedMedium[] = []
  const add = (path: NamedMedium['path'], url: string | undefined, rule: MediumRule, role: NamedMedium['role']) => {
    if (url !== undefined) media.push({ path, url, rule, role })
  }
  add(['image_url'], request.image_url, picture, 'image')
  add(['end_image_url'], request.end_image_url, picture, 'end_image')
  add(['audio_url'], request.audio_url, music, null)
  add(['video_url'], request.video_url, video, 'video')
  const lists = [
    ['reference_image_urls', picture, 'reference_image'],
    ['reference_video_urls', referenceVideo, 'reference_video'],
    ['reference_audio_urls', referenceSound, null],
    ['scene_image_urls', picture, 'reference_image'],
  ] as const
  for (const [field, rule, role] of lists) {
    for (const [index, url] of (request[field] ?? []).entries()) add([field, index], url, rule, role)
  }
  for (const [index, element] of (request.elements ?? []).entries()) {
    const at = ['elements', index]
    add([...at, 'frontal_image_url'], element.frontal_image_url, picture, 'reference_image')
    for (const [place, url] of (element.reference_image_urls ?? []).entries()) {
      add([...at, 'reference_image_urls', place], url, picture, 'reference_image')
    }
    add([...at, 'video_url'], element.video_url, video, 'reference_video')
  }
  return media
}
