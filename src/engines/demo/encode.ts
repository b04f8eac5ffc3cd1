import type { Conversion } from '#host/media/conversion.ts'
import { MediaFailed, type RunMediaTask } from '#host/media/media-workers.ts'
import { complaintCharacters, encodeMs } from '../bounds.ts'

/** The encoder ended without a video. */
export class EncodeFailed extends Error {
  /** The encoder's own words, for the operator's log only. */
  readonly complaint: string

  constructor(message: string, complaint: string) {
    super(message)
    this.name = 'EncodeFailed'
    this.complaint = complaint
  }
}

/** Encodes a video after all requests. Throws `EncodeFailed`; an abort kills the encoder. */
export async function encode(run: RunMediaTask, work: Conversion): Promise<void> {
  try {
    await run('convert', work)
  } catch (error) {
    if (!(error instanceof MediaFailed)) throw error
    const complaint = error.message.slice(0, complaintCharacters)
    if (error.problem === 'late')
      throw new EncodeFailed(`The video encoder took longer than ${encodeMs / 1000} s.`, complaint)
    throw new EncodeFailed('The video encoder could not make this video.', complaint)
  }
}
