import { videoTooLong, videoTooShort } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { picturesPerSecond, referenceTotalSeconds, secondsTolerance } from './bounds.ts'
import type { Probed } from './media-probe.ts'
import type { MediumRule, NamedMedium } from './named-media.ts'
import type { TakenMedium } from './video-media.ts'

type Timed = Exclude<MediumRule, { kind: 'image' }>

/** Throws 422 for a video, as published, and 400 for a sound. */
export function checkSeconds(path: NamedMedium['path'], seconds: number, { kind, least, most }: Timed): void {
  const isLong = seconds > most + secondsTolerance
  const isShort = seconds < least - secondsTolerance
  if (!isLong && !isShort) return
  const said = `has ${shown(seconds)} s; ${least ? `${least} to ${most}` : `at most ${most}`} s are taken`
  if (kind === 'audio') throw fieldError(path, said)
  throw isLong
    ? videoTooLong({ error: `Video duration exceeds the maximum allowed. ${path.join('.')} ${said}.` })
    : videoTooShort({ error: `Video duration is too short. ${path.join('.')} ${said}.` })
}

/** A second is priced, and worked on picture by picture; films have 24 of them, games 120. Throws `invalidRequest`. */
export function checkPictures(path: NamedMedium['path'], { seconds, pictures }: Probed): void {
  if (pictures === null || pictures <= Math.max(seconds, 1) * picturesPerSecond) return
  throw fieldError(
    path,
    `has ${pictures} pictures in ${shown(seconds)} s; at most ${picturesPerSecond} a second are taken`,
  )
}

/** Brief §2.6: reference clips have 15 s together, videos and sounds apart. */
export function checkReferenceTotals(media: readonly TakenMedium[]): void {
  for (const field of ['reference_video_urls', 'reference_audio_urls'] as const) {
    const clips = media.filter(({ path }) => path[0] === field)
    const total = clips.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0)
    if (total <= referenceTotalSeconds + secondsTolerance) continue
    const said = `have ${shown(total)} s together; at most ${referenceTotalSeconds} s are taken`
    if (field === 'reference_audio_urls') throw fieldError([field], said)
    throw videoTooLong({ error: `Video duration exceeds the maximum allowed. ${field} ${said}.` })
  }
}

const shown = (seconds: number): string => seconds.toFixed(1)
