import { probeRate } from './bounds.ts'
import { decodeSound } from './decode-sound.ts'
import type { Recording } from './sound-type.ts'
import { wavSeconds } from './wav.ts'

/** How long a recording is: a number, that nothing here can tell, or that it is broken. */
type SoundLength = { seconds: number } | 'unknown' | 'broken'

interface Measuring {
  /** Decoding ends soon after; what is longer has some length above it. */
  atMostSeconds: number
  signal: AbortSignal
}

/**
 * By decoding it whole, because headers may say anything, and what calls itself a WAV of samples may be coded sound that
 * its readers find. Only where nothing decodes, a plain WAV is believed.
 */
export async function soundLength(recording: Recording, { atMostSeconds, signal }: Measuring): Promise<SoundLength> {
  const asked = { rate: probeRate, atMostSeconds: atMostSeconds + 1, to: 'count', signal } as const
  const read = await decodeSound(recording, asked)
  if (read === 'broken') return 'broken'
  const seconds = read === 'unknown' ? claimedSeconds(recording) : read.samples / probeRate
  if (seconds === null) return 'unknown'
  return seconds > 0 ? { seconds } : 'broken'
}

const claimedSeconds = ({ bytes, type }: Recording): number | null => (type === 'wav' ? wavSeconds(bytes) : null)
