import type { Recording } from '../engines/audio-engines.ts'
import { probeRate } from './bounds.ts'
import { decodeSound } from './decode-sound.ts'
import { wavSeconds } from './wav.ts'

/** How long a recording is: a number, that nothing here can tell, or that it is broken. */
export type SoundLength = { seconds: number } | 'unknown' | 'broken'

/** A WAV by its header; everything else by decoding it whole, because headers of such files may say anything. */
export async function soundLength(recording: Recording, signal: AbortSignal): Promise<SoundLength> {
  if (recording.type === 'wav') {
    const seconds = wavSeconds(recording.bytes)
    return seconds === null ? 'broken' : { seconds }
  }
  let bytes = 0
  const count = (piece: Buffer) => {
    bytes += piece.length
  }
  const read = await decodeSound(recording, { rate: probeRate, onPiece: count, signal })
  if (read === 'unknown') return 'unknown'
  return read === 'decoded' && bytes > 0 ? { seconds: bytes / 2 / probeRate } : 'broken'
}
