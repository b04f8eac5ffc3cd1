import { inFile } from '#programs/in-folder.ts'
import { FfmpegMissing } from '#programs/media/ffmpeg-missing.ts'
import { Ffmpeg, type FfmpegOptions, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import { probeMs, probesAtOnce, probesWaiting } from './bounds.ts'
import type { MediaFormat } from './media-format.ts'

export interface Probed {
  /** Up to the end of its last picture or sample, as its packets say it. */
  seconds: number
  /** Of a video; null for sound. */
  width: number | null
  height: number | null
  /** Pictures of a video; null for sound. */
  pictures: number | null
}

/** Reads how long a medium is. */
export interface MediaProbe {
  /**
   * Null for what cannot be read as that format. Throws where nothing on this machine can read any, `modelOverloaded` where
   * too many wait, and `requestTimeout` where it takes too long, which is not the medium's fault.
   */
  probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | null>
}

/** Walks through a medium's packets: a header may claim any length, and the length is the price. */
export class PacketProbe implements MediaProbe {
  readonly #ffmpeg: Ffmpeg

  constructor(options: Partial<FfmpegOptions> = {}) {
    this.#ffmpeg = new Ffmpeg({ atOnce: probesAtOnce, waiting: probesWaiting, timeoutMs: probeMs, ...options })
  }

  async probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | null> {
    try {
      const { seconds, video } = await this.#ffmpeg.turn(
        run => inFile('media', bytes, path => run('probe', { path, format })),
        signal,
      )
      if (!(seconds > 0)) return null
      if (isSound(format)) return { seconds, width: null, height: null, pictures: null }
      return video && { seconds, width: video.width, height: video.height, pictures: video.frames }
    } catch (error) {
      if (isUnreadable(error)) return null
      throw error
    }
  }
}

export const isProbeMissing = (error: unknown): boolean => error instanceof FfmpegMissing

const isSound = (format: MediaFormat): boolean => format === 'wav' || format === 'mp3'
