import { createHash } from 'node:crypto'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import { secondsOf } from '../video-media/asked-seconds.ts'

/** What a request comes to before anything is drawn. */
export interface VideoPlan {
  width: number
  height: number
  seconds: number
  audio: boolean
  /** Numbers from 0 to 255 that follow from the prompt alone: the same words, the same picture. */
  seed: readonly number[]
}

const defaultShortSide = 480
const defaultRatio = [16, 9] as const

/** Pixels of the shorter side; null for a resolution that says none, such as `2x`. */
export function shortSideOf(resolution: unknown): number | null {
  if (resolution === '4k') return 2_160
  const pixels = /^(?:true_)?(\d{3,4})p$/.exec(String(resolution))?.[1]
  return pixels === undefined ? null : Number(pixels)
}

export function videoPlan(request: VideoQueueRequest): VideoPlan {
  const shortSide = shortSideOf(request.resolution) ?? defaultShortSide
  const [across = defaultRatio[0], down = defaultRatio[1]] =
    request.aspect_ratio?.split(':').map(Number) ?? defaultRatio
  return {
    width: even(across >= down ? (shortSide * across) / down : shortSide),
    height: even(across >= down ? shortSide : (shortSide * down) / across),
    seconds: secondsOf(request.duration),
    audio: request.audio !== false,
    seed: [...createHash('sha256').update(request.prompt).digest()],
  }
}

/** Half of the colour's resolution must be whole. */
const even = (side: number): number => Math.round(side / 2) * 2
