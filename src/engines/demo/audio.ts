import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { renameFile } from '#host/files.ts'
import { audioLength, encodableFormats, encodeAudio, pcmRate } from '../audio/audio-codec.ts'
import { longestRecordingSeconds, type PcmAudio } from '../audio/recording.ts'
import { carriesOnly, type MusicChoice, type SpeechChoice, type TranscriptionChoice } from '../ports/engine.ts'
import type {
  JobProgress,
  MusicCall,
  MusicEngine,
  SpeechCall,
  SpeechEngine,
  TranscribedSpeech,
  TranscriptionCall,
  TranscriptionEngine,
} from '../ports/media-engines.ts'

const jobPattern = /^[A-Za-z0-9-]{1,64}$/

/** Length of each note of the melody. */
const noteSeconds = 0.25
/** Length of each letter that is sung. */
const sungLetterSeconds = 0.125
/** A scale in which no two notes clash, in semitones. */
const scale = [0, 2, 4, 7, 9, 12, 14, 16]

/**
 * Plays chords and a melody derived from the words of a prompt, and hums the lyrics over them. It composes nothing, and
 * only demonstrates a job. The same prompt gives the same music, so a restarted job makes the same file.
 */
export class DemoMusic implements MusicEngine {
  readonly carries = carriesOnly<MusicChoice>('prompt', 'lyrics_prompt', 'duration_seconds', 'force_instrumental')
  readonly #workFolder: string

  /** Finished pieces stay in the folder until the caller takes them. */
  constructor({ workFolder }: { workFolder: string }) {
    this.#workFolder = resolve(workFolder)
  }

  start(call: MusicCall): Promise<JobProgress> {
    return this.#make(call)
  }

  poll(call: MusicCall): Promise<JobProgress> {
    return this.#make(call)
  }

  async #make({ request, jobId, signal }: MusicCall): Promise<JobProgress> {
    if (!jobPattern.test(jobId)) throw new Error('A job id may contain only letters, digits and dashes.')
    const format = (await encodableFormats()).includes('mp3') ? 'mp3' : 'wav'
    const path = join(this.#workFolder, `${jobId}.${format}`)
    const mimeType = format === 'mp3' ? 'audio/mpeg' : 'audio/wav'
    if (!existsSync(path)) {
      const samples = await toneSamples(tonesOf(request), pcmRate, signal)
      addTo(samples, await toneSamples(sungTones(request), pcmRate, signal))
      const bytes = await encodeAudio({ samples, rate: pcmRate }, format, signal)
      await mkdir(this.#workFolder, { recursive: true, mode: 0o700 })
      const part = `${path}.${randomBytes(4).toString('hex')}.part`
      await writeFile(part, bytes, { mode: 0o600, flush: true })
      await renameFile(part, path)
    }
    return { state: 'completed', path, mimeType }
  }
}

/** Sings each letter of the lyrics as a high tone, for the length of the piece; an instrumental has none. */
function sungTones({ lyrics = '', isInstrumental, seconds }: MusicCall['request']): Tone[] {
  if (isInstrumental) return []
  const most = Math.floor(seconds / sungLetterSeconds)
  return [...lyrics.toLowerCase()].slice(0, most).map(letter => {
    const step = (letter.codePointAt(0) ?? 0) % 13
    return {
      seconds: sungLetterSeconds,
      hertz: 440 * 2 ** (step / 12),
      loudness: /[\p{L}\p{N}]/u.test(letter) ? 0.25 : 0,
    }
  })
}

/** Mixes two tracks, clipped to what a sample can hold. */
function addTo(samples: Int16Array, others: Int16Array): void {
  for (const [at, other] of others.subarray(0, samples.length).entries()) samples[at] = (samples[at] ?? 0) + other
}

function tonesOf({ prompt, seconds }: MusicCall['request']): Tone[] {
  const words = createHash('sha256').update(prompt).digest()
  const root = 110 * 2 ** (((words[0] ?? 0) % 12) / 12)
  const notes = Math.round(seconds / noteSeconds)
  return Array.from({ length: notes }, (_, index) => {
    const step = scale[(words[(index % 31) + 1] ?? 0) % scale.length] ?? 0
    // Every fourth note is a chord, to give a beat.
    const chord = index % 4 === 0 ? [1, 1.25, 1.5] : [1]
    return { seconds: noteSeconds, hertz: root * 2 ** (step / 12), loudness: 0.35, chord }
  })
}

/** Pitch of each voice, in hertz. */
const pitches = { 'demo-low': 110, 'demo-middle': 165, 'demo-high': 220 }

export const demoVoices = ['demo-middle', 'demo-low', 'demo-high'] as const

/** Length of a letter, and of the pause for any other character; in seconds at normal speed. */
const spokenLetterSeconds = 0.07
const pauseSeconds = 0.09

/**
 * Plays a tone for each letter, in the rhythm of the words. It speaks no words, and only demonstrates a request. The
 * same text and voice give the same audio.
 */
export class DemoSpeech implements SpeechEngine {
  readonly formats = encodableFormats
  readonly carries = carriesOnly<SpeechChoice>('voice', 'speed')

  async speak({ request, signal }: SpeechCall): Promise<Buffer> {
    const { text, voice, speed, format } = request
    const pitch = pitchOf(voice)
    return encodeAudio(await hummed(text, { pitch, speed }, signal), format, signal)
  }
}

/** Any other voice name gets its own pitch. */
function pitchOf(voice: string): number {
  const [first = 0] = createHash('sha256').update(voice).digest()
  return pitches[voice as keyof typeof pitches] ?? 110 + (first * 110) / 255
}

async function hummed(
  text: string,
  { pitch, speed }: { pitch: number; speed: number },
  signal: AbortSignal,
): Promise<PcmAudio> {
  const tones = [...text.toLowerCase()].map(character => {
    const isLetter = /[\p{L}\p{N}]/u.test(character)
    const step = (character.codePointAt(0) ?? 0) % 13
    const seconds = (isLetter ? spokenLetterSeconds : pauseSeconds) / speed
    return { seconds, hertz: pitch * 2 ** (step / 12), loudness: isLetter ? 0.3 : 0 }
  })
  return { samples: await toneSamples(tones, pcmRate, signal), rate: pcmRate }
}

/** Does not recognize speech: it reports only a recording's length and type, to demonstrate the operation. */
export class DemoTranscription implements TranscriptionEngine {
  readonly carries = carriesOnly<TranscriptionChoice>('language')

  async transcribe({ recording, language, signal }: TranscriptionCall): Promise<TranscribedSpeech> {
    const length = await audioLength(recording, { atMostSeconds: longestRecordingSeconds, signal })
    const seconds = typeof length === 'string' ? null : length.seconds
    const long = seconds === null ? 'of unknown length' : `of ${seconds.toFixed(1)} seconds`
    const asked = language === undefined ? '' : `, declared as ${JSON.stringify(language)}`
    const text = `[This demonstration does not recognize speech. It received ${recording.type} audio ${long}${asked}.]`
    return { text, seconds }
  }
}

export interface Tone {
  seconds: number
  hertz: number
  /** From 0 to 1. */
  loudness: number
  /** Further tones played with it, as multiples of its frequency. */
  chord?: readonly number[]
}

/** Tones to compute before yielding to other work: some milliseconds. */
const tonesAtOnce = 8

/** Plays tones one after another, each fading in and out so that it does not click. */
export async function toneSamples(tones: readonly Tone[], rate: number, signal: AbortSignal): Promise<Int16Array> {
  const counts = tones.map(({ seconds }) => Math.max(1, Math.round(seconds * rate)))
  const samples = new Int16Array(counts.reduce((sum, count) => sum + count, 0))
  let start = 0
  for (const [index, tone] of tones.entries()) {
    if (index % tonesAtOnce === 0) {
      await setImmediate()
      signal.throwIfAborted()
    }
    const count = counts[index] ?? 0
    if (tone.loudness > 0) draw(samples.subarray(start, start + count), tone, rate)
    start += count
  }
  return samples
}

const largest = 32_767

function draw(samples: Int16Array, { hertz, loudness, chord = [1] }: Tone, rate: number): void {
  for (const [at] of samples.entries()) {
    const envelope = Math.sin((Math.PI * (at + 0.5)) / samples.length) ** 0.5
    let wave = 0
    for (const ratio of chord) {
      const phase = (2 * Math.PI * hertz * ratio * at) / rate
      wave += (Math.sin(phase) + 0.4 * Math.sin(2 * phase)) / (1.4 * chord.length)
    }
    samples[at] = Math.round(largest * loudness * envelope * wave)
  }
}
