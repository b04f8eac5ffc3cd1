import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { MusicCall, MusicEngine } from '../audio-engines.ts'
import { carriesOnly, type MusicChoice } from '../carried-choices.ts'
import type { JobProgress } from '../engine.ts'
import { encodeSound, pcmRate, soundFormats } from '../sound/encode-sound.ts'
import { soundSamples, type Tone } from './tones.ts'

const jobPattern = /^[A-Za-z0-9-]{1,64}$/

/** Of each note of the melody. */
const noteSeconds = 0.25
/** Of each letter that is sung. */
const letterSeconds = 0.125
/** A scale in which nothing sounds wrong, in half tones. */
const scale = [0, 2, 4, 7, 9, 12, 14, 16]

/**
 * Plays chords and a melody that follow from the words of a prompt, and hums the lyrics over them. Nothing is composed; it shows the path of a job. The
 * same prompt gives the same music, so a job that is begun anew after a restart ends as it would have.
 */
export class DemoMusic implements MusicEngine {
  readonly carries = carriesOnly<MusicChoice>('prompt', 'lyrics_prompt', 'duration_seconds', 'force_instrumental')
  readonly #workFolder: string

  /** Finished pieces lie in the folder until the caller takes them. */
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
    if (!jobPattern.test(jobId)) throw new Error('A job is named by letters, digits and dashes.')
    const format = (await soundFormats()).includes('mp3') ? 'mp3' : 'wav'
    const path = join(this.#workFolder, `${jobId}.${format}`)
    const mimeType = format === 'mp3' ? 'audio/mpeg' : 'audio/wav'
    if (!existsSync(path)) {
      const samples = await soundSamples(tonesOf(request), pcmRate, signal)
      addTo(samples, await soundSamples(sungTones(request), pcmRate, signal))
      const bytes = await encodeSound({ samples, rate: pcmRate }, format, signal)
      await mkdir(this.#workFolder, { recursive: true, mode: 0o700 })
      const part = `${path}.${randomBytes(4).toString('hex')}.part`
      await writeFile(part, bytes, { mode: 0o600, flush: true })
      await rename(part, path)
    }
    return { state: 'completed', path, mimeType }
  }
}

/** Each letter of the lyrics a high tone, as long as the piece lasts; nothing is sung in an instrumental. */
function sungTones({ lyrics = '', isInstrumental, seconds }: MusicCall['request']): Tone[] {
  if (isInstrumental) return []
  const most = Math.floor(seconds / letterSeconds)
  return [...lyrics.toLowerCase()].slice(0, most).map(letter => {
    const step = (letter.codePointAt(0) ?? 0) % 13
    return { seconds: letterSeconds, hertz: 440 * 2 ** (step / 12), loudness: /[\p{L}\p{N}]/u.test(letter) ? 0.25 : 0 }
  })
}

/** Both at once; together they stay within what a sample can be. */
function addTo(samples: Int16Array, others: Int16Array): void {
  for (const [at, other] of others.subarray(0, samples.length).entries()) samples[at] = (samples[at] ?? 0) + other
}

function tonesOf({ prompt, seconds }: MusicCall['request']): Tone[] {
  const words = createHash('sha256').update(prompt).digest()
  const root = 110 * 2 ** (((words[0] ?? 0) % 12) / 12)
  const notes = Math.round(seconds / noteSeconds)
  return Array.from({ length: notes }, (_, index) => {
    const step = scale[(words[(index % 31) + 1] ?? 0) % scale.length] ?? 0
    // Each fourth note is a chord, so that there is a beat.
    const chord = index % 4 === 0 ? [1, 1.25, 1.5] : [1]
    return { seconds: noteSeconds, hertz: root * 2 ** (step / 12), loudness: 0.35, chord }
  })
}
