import { createHash } from 'node:crypto'
import { modelOffline, payloadTooLarge } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { Log } from '#host/log.ts'
import * as bounds from './bounds.ts'
import { checkPictures, checkReferenceTotals, checkSeconds } from './check-seconds.ts'
import { mimeTypes } from './media-format.ts'
import type { MediaLengths } from './media-lengths.ts'
import { isProbeMissing, type MediaProbe } from './media-probe.ts'
import { type NamedMedium, namedMedia } from './named-media.ts'
import { type Reading, type ReadMedium, readMedium } from './read-medium.ts'

/** A medium whose bytes were read and found to be what its field takes. */
export interface TakenMedium extends Pick<NamedMedium, 'path' | 'rule' | 'role'>, ReadMedium {
  /** Of the bytes that the caller sent, SHA-256 in hex. */
  hash: string
  /** Null for pictures. */
  seconds: number | null
}

interface TakenMedia {
  /** With the bytes of every medium in it: the engine works on what was checked, whatever an address leads to by then. */
  request: VideoQueueRequest
  media: readonly TakenMedium[]
  lengths: MediaLengths
}

/** Reads the media of requests: fetches, recognises, measures. */
export class VideoMedia {
  readonly #probe: MediaProbe
  readonly #log: Log

  constructor({ probe, log }: { probe: MediaProbe; log: Log }) {
    this.#probe = probe
    this.#log = log
  }

  /**
   * Throws `invalidRequest`, `videoTooLong`, `videoTooShort` or `payloadTooLarge`, which name the field, and `modelOffline`
   * where nothing here can measure what was sent.
   */
  async take(
    request: VideoQueueRequest,
    { fetcher, signal }: Pick<Reading, 'fetcher' | 'signal'>,
  ): Promise<TakenMedia> {
    const media: TakenMedium[] = []
    const pinned = structuredClone(request)
    let room = bounds.requestMediaBytes
    // One after the other, so that a request has the memory of one fetch beside what it keeps.
    for (const named of namedMedia(request)) {
      const read = await readMedium(named, { fetcher, mostBytes: room, signal })
      room -= read.bytes.length
      if (room < 0) throw tooMuch()
      const { path, rule, role } = named
      // A yes to a medium counts for the bytes that the caller sent.
      const hash = createHash('sha256').update(read.bytes).digest('hex')
      const { seconds, ...taken } = await this.#measured(named, read, signal)
      room -= Math.max(0, taken.bytes.length - read.bytes.length)
      if (room < 0) throw tooMuch()
      media.push({ path, rule, role, ...taken, hash, seconds })
      if (taken.bytes !== read.bytes || !named.url.startsWith('data:')) pin(pinned, path, dataUrl(taken))
    }
    checkReferenceTotals(media)
    return { request: pinned, media, lengths: lengthsOf(media) }
  }

  /** The medium as an engine gets it: a picture as it is, any other anew from what was measured of it. */
  async #measured({ path, rule }: NamedMedium, read: ReadMedium, signal: AbortSignal) {
    const { bytes, format } = read
    if (rule.kind === 'image' || format === null) return { ...read, seconds: null }
    const probed = await this.#probe.probe(bytes, format, signal).catch(error => {
      signal.throwIfAborted()
      if (error instanceof ServiceError) throw error
      this.#log.error({ err: error }, 'A medium of a request could not be measured, so the request was refused.')
      throw isProbeMissing(error) ? modelOffline() : error
    })
    if (!probed) throw fieldError(path, `the ${format} file is cut off or damaged, or its codec is not supported`)
    if ('refused' in probed) throw fieldError(path, probed.refused)
    checkSeconds(path, probed.seconds, rule)
    checkPictures(path, probed)
    return { bytes: probed.bytes, format: probed.format, mimeType: mimeTypes[probed.format], seconds: probed.seconds }
  }
}

function lengthsOf(media: readonly TakenMedium[]): MediaLengths {
  const of = (field: string) => media.filter(({ path }) => path[0] === field).map(({ seconds }) => seconds ?? 0)
  const [video = null] = of('video_url')
  return { video, references: of('reference_video_urls').reduce((sum, seconds) => sum + seconds, 0) }
}

const dataUrl = ({ mimeType, bytes }: ReadMedium): string => `data:${mimeType};base64,${bytes.toString('base64')}`

/** Puts the bytes where the address stood. */
function pin(request: VideoQueueRequest, path: NamedMedium['path'], url: string): void {
  const inner = path.slice(0, -1).reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], request)
  const last = path.at(-1)
  if (last !== undefined) (inner as Record<string, unknown>)[last] = url
}

const tooMuch = () =>
  payloadTooLarge({
    code: 'PAYLOAD_TOO_LARGE',
    error: `All media of a request may have ${bounds.requestMediaBytes} bytes together.`,
  })
