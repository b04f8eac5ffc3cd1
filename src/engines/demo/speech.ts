import { createHash } from 'node:crypto'
import type { SpeechCall, SpeechEngine } from '../audio-engines.ts'
import { carriesOnly, type SpeechChoice } from '../carried-choices.ts'
import { encodeSound, pcmRate, soundFormats } from '../sound/encode-sound.ts'
import type { Sound } from '../sound/wav.ts'
import { soundSamples } from './tones.ts'

/** Pitch of each voice, in hertz. */
const pitches = { 'demo-low': 110, 'demo-middle': 165, 'demo-high': 220 }

export const demoVoices = ['demo-middle', 'demo-low', 'demo-high'] as const

/** How long a letter sounds, and how long is silent what is none; in seconds at normal speed. */
const letterSeconds = 0.07
const pauseSeconds = 0.09

/**
 * Sings each letter as a tone of its own, like a toy: the rhythm of the words without their sounds. Nothing is spoken; it
 * shows the path of a request. The same text and voice give the same sound.
 */
export class DemoSpeech implements SpeechEngine {
  readonly formats = soundFormats
  readonly carries = carriesOnly<SpeechChoice>('voice', 'speed')

  async speak({ request, signal }: SpeechCall): Promise<Buffer> {
    const { text, voice, speed, format } = request
    const pitch = pitchOf(voice)
    return encodeSound(await hummed(text, { pitch, speed }, signal), format, signal)
  }
}

/** A voice of another name has a pitch of its own too. */
function pitchOf(voice: string): number {
  const [first = 0] = createHash('sha256').update(voice).digest()
  return pitches[voice as keyof typeof pitches] ?? 110 + (first * 110) / 255
}

async function hummed(
  text: string,
  { pitch, speed }: { pitch: number; speed: number },
  signal: AbortSignal,
): Promise<Sound> {
  const tones = [...text.toLowerCase()].map(character => {
    const isLetter = /[\p{L}\p{N}]/u.test(character)
    const step = (character.codePointAt(0) ?? 0) % 13
    const seconds = (isLetter ? letterSeconds : pauseSeconds) / speed
    return { seconds, hertz: pitch * 2 ** (step / 12), loudness: isLetter ? 0.3 : 0 }
  })
  return { samples: await soundSamples(tones, pcmRate, signal), rate: pcmRate }
}
