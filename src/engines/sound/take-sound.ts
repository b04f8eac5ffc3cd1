import { longSoundBytes } from './bounds.ts'
import { type Decoding, decodeSound, isWhole } from './decode-sound.ts'
import type { Recording } from './sound-type.ts'
import { plainSound, resampled, wavOf } from './wav.ts'

/** A recording whose samples were counted, in a file of ours that holds these and no others. */
export interface TakenSound {
  recording: Recording
  seconds: number
}

type Taking = Pick<Decoding, 'rate' | 'channels' | 'atMostSeconds' | 'isCut' | 'signal'>

/**
 * Decodes a recording and writes it anew, as WAV. An engine that got the caller's container might read another track of it
 * than was measured. Where FFmpeg is missing, only a WAV of plain samples can be taken: `unknown` is any other. Throws as
 * `decodeSound` does.
 */
export async function takeSound(recording: Recording, taking: Taking): Promise<TakenSound | 'broken' | 'unknown'> {
  // A second more, so that what is too long is seen to be.
  const decoding = { ...taking, atMostSeconds: taking.atMostSeconds + 1 }
  const read = await decodeSound(recording, { ...decoding, to: 'wav' })
  if (read === 'unknown') return takePlain(recording, taking)
  if (read === 'broken' || read.samples === 0) return 'broken'
  const seconds = read.samples / taking.rate
  return { recording: { bytes: read.bytes, type: 'wav' }, seconds }
}

/** The same for an upload of hours: an MP3 of a size that servers take, where a WAV would be larger. */
export async function takeLongSound(recording: Recording, taking: Taking): Promise<TakenSound | 'broken' | 'unknown'> {
  const most = { ...taking, atMostSeconds: taking.atMostSeconds + 1 }
  const counted = await decodeSound(recording, { ...most, to: 'count' })
  if (counted === 'unknown') return takePlain(recording, taking)
  if (counted === 'broken' || counted.samples === 0) return 'broken'
  const seconds = counted.samples / taking.rate
  if (seconds * taking.rate * 2 <= longSoundBytes) return takeSound(recording, taking)
  // What is refused as too long need not be written.
  if (seconds > taking.atMostSeconds) return { recording, seconds }
  const kilobits = bitRates.find(each => (seconds * each * 1_000) / 8 <= longSoundBytes) ?? 8
  const coded = await decodeSound(recording, { ...most, to: 'mp3', options: { b: `${kilobits}k` } })
  if (coded === 'unknown' || coded === 'broken') return coded
  return { recording: { bytes: coded.bytes, type: 'mp3' }, seconds }
}

/** Of MP3 at 16,000 samples a second, in thousands of bits. */
const bitRates = [64, 56, 48, 40, 32, 24, 16] as const

async function takePlain(recording: Recording, { rate, signal }: Taking): Promise<TakenSound | 'broken' | 'unknown'> {
  if (recording.type !== 'wav') return 'unknown'
  const sound = plainSound(recording.bytes)
  if (!sound) return 'unknown'
  if (sound.samples.length === 0 || !(await isWhole(recording, signal))) return 'broken'
  const seconds = sound.samples.length / sound.rate
  return { recording: { bytes: wavOf(resampled(quieter(sound), rate)), type: 'wav' }, seconds }
}

/** By a fiftieth, which nobody hears: coded sound that calls itself samples is then none for any reader. */
function quieter({ samples, rate }: NonNullable<ReturnType<typeof plainSound>>) {
  return { samples: samples.map(sample => Math.round(sample * 0.98)), rate }
}
