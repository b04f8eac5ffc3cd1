import { fieldError } from '#contract/errors/issues.ts'
import { sniffType } from '#contract/wire/media-type.ts'
import { FfmpegMissing } from '#host/media/ffmpeg-missing.ts'
import { heardRate, heardSeconds } from '../bounds.ts'
import type { TranscriptCall, TranscriptionEngine, VideoTranscriber } from '../ports/media-engines.ts'
import { decodeSound } from '../sound/decode-sound.ts'
import { encodeSound } from '../sound/encode-sound.ts'

export interface AudioTranscriberOptions {
  engine: TranscriptionEngine
  engineModel: string
}

/** The words of a video by an engine that hears recordings: it gets the sound alone, as MP3. Takes the package node-av. */
export class AudioTranscriber implements VideoTranscriber {
  readonly #engine: TranscriptionEngine
  readonly #engineModel: string

  constructor({ engine, engineModel }: AudioTranscriberOptions) {
    this.#engine = engine
    this.#engineModel = engineModel
  }

  /** Throws `invalidRequest` where a video has no sound, or too much of it. */
  async transcribe({ bytes, signal }: TranscriptCall): Promise<{ transcript: string }> {
    const sound = { samples: await samplesOf(bytes, signal), rate: heardRate }
    const recording = { bytes: await encodeSound(sound, 'mp3', signal), type: 'mp3' as const }
    const { text } = await this.#engine.transcribe({
      ...{ recording, timestamps: false, engineModel: this.#engineModel, signal },
    })
    return { transcript: text }
  }

  /** Ends the engine's connections, where it has some. */
  async close(): Promise<void> {
    await (this.#engine as { close?: () => Promise<void> }).close?.()
  }
}

async function samplesOf(bytes: Buffer, signal: AbortSignal): Promise<Int16Array> {
  const type = sniffType(bytes) === 'video/webm' ? 'webm' : 'mp4'
  const asked = { rate: heardRate, atMostSeconds: heardSeconds + 1, to: 'pcm', signal } as const
  const read = await decodeSound({ bytes, type }, asked)
  if (read === 'unknown') throw new FfmpegMissing()
  if (read === 'broken' || read.samples === 0) {
    throw fieldError(['url'], 'leads to a video without a sound that could be read')
  }
  if (read.samples > heardSeconds * heardRate) throw fieldError(['url'], longSentence)
  const { buffer, byteOffset, byteLength } = read.bytes
  return new Int16Array(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer)
}

const longSentence = `leads to a video with more sound than is written down at once: ${heardSeconds / 60} minutes`
