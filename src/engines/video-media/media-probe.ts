import { inFile } from '#host/files.ts'
import { FfmpegMissing } from '#host/media/ffmpeg.ts'
import { MediaFailed } from '#host/media/media-workers.ts'
import { takeRecording } from '../audio/audio-codec.ts'
import { musicRate } from '../audio/recording.ts'
import { Ffmpeg, type FfmpegOptions, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import {
  isVideoFormat,
  type MediaFormat,
  musicSeconds,
  probeMs,
  probesAtOnce,
  probesWaiting,
  type VideoFormat,
  videoPackets,
} from './request-media.ts'

export interface Probed {
  /** The medium anew: what was measured of it and nothing else, as an engine gets it. */
  bytes: Buffer
  format: MediaFormat
  /** Up to the end of its last frame or sample. */
  seconds: number
  /** Frames of a video; null for audio. */
  frames: number | null
}

/** A whole medium that is not taken: the reason follows the name of its field. */
export interface Refused {
  refused: string
}

/** Measures media, and writes them anew from what was measured. */
export interface MediaProbe {
  /**
   * Null for what cannot be read as that format, a reason for what has too much in it. Throws `FfmpegMissing` where it takes what is not installed,
   * `modelOverloaded` where too many wait, and `requestTimeout` where it takes too long, which is not the medium's fault.
   */
  probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | Refused | null>
}

/** By packets and samples: a header may claim any length, and the length is the price. */
export class PacketProbe implements MediaProbe {
  readonly #ffmpeg: Ffmpeg

  constructor(options: Partial<FfmpegOptions> = {}) {
    this.#ffmpeg = new Ffmpeg({ atOnce: probesAtOnce, waiting: probesWaiting, timeoutMs: probeMs, ...options })
  }

  probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | Refused | null> {
    return isVideoFormat(format) ? this.#video(bytes, format, signal) : probeAudio(bytes, format, signal)
  }

  async #video(given: Buffer, format: VideoFormat, signal: AbortSignal): Promise<Probed | Refused | null> {
    try {
      const { bytes, seconds, frames } = await this.#ffmpeg.turn(
        run => inFile('media', given, path => run('video', { path, format, mostPackets: videoPackets })),
        signal,
      )
      return seconds > 0 ? { bytes: Buffer.from(bytes), format, seconds, frames } : null
    } catch (error) {
      if (isUnreadable(error)) return null
      if (error instanceof MediaFailed && error.problem === 'excessive') return { refused: error.message }
      throw error
    }
  }
}

async function probeAudio(bytes: Buffer, type: 'wav' | 'mp3', signal: AbortSignal): Promise<Probed | null> {
  const taking = { rate: musicRate, channels: 2, atMostSeconds: musicSeconds + 1, signal } as const
  const taken = await takeRecording({ bytes, type }, taking)
  if (taken === 'unknown') throw new FfmpegMissing()
  if (taken === 'broken') return null
  return { bytes: taken.recording.bytes, format: 'wav', seconds: taken.seconds, frames: null }
}

export const isProbeMissing = (error: unknown): boolean => error instanceof FfmpegMissing
