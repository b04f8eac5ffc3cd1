import type { RunFfmpeg } from '../../ffmpeg/ffmpeg.ts'
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
export async function encode(run: RunFfmpeg, args: readonly string[], signal: AbortSignal): Promise<void> {
  let complaint = ''
  const onLog = (piece: Buffer) => {
    complaint = (complaint + piece).slice(-complaintCharacters)
  }
  const end = await run({ args, onLog, signal, isPatient: true }).catch((error: Error) => {
    signal.throwIfAborted()
    throw new EncodeFailed('The video encoder could not be started.', error.message)
  })
  if (end.kind === 'late') throw new EncodeFailed(`The video encoder took longer than ${encodeMs / 1000} s.`, complaint)
  if (end.kind !== 'exited' || end.code !== 0) {
    throw new EncodeFailed('The video encoder could not make this video.', complaint)
  }
}
