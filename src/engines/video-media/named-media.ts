import type { FaceMediaRole } from '#contract/errors/failures.ts'
import {
  mediaOfRequest,
  type RequestMedium,
  type VideoMediaField,
  type VideoQueueRequest,
} from '#contract/operations/video.ts'
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

/** Every medium of a request with its rule. */
export const namedMedia = (request: VideoQueueRequest): NamedMedium[] =>
  mediaOfRequest(request).map(({ path, url, kind, role }) => ({ path, url, role, rule: ruleOf(kind, path[0]) }))

function ruleOf(kind: RequestMedium['kind'], field: VideoMediaField): MediumRule {
  if (kind === 'image') return picture
  if (kind === 'video') return field === 'video_url' ? video : referenceVideo
  return field === 'audio_url' ? music : referenceSound
}
