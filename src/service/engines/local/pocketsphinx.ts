import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inferenceFailed, modelOverloaded, requestTimeout, unreadableSpeech } from '#contract/errors.ts'
import { decodeSound } from '../../audio/decode-sound.ts'
import { pcmOf, resampled, soundOfWav } from '../../audio/wav.ts'
import { fieldError } from '../../models/field-error.ts'
import type { Recording, TranscribedSpeech, TranscriptionCall, TranscriptionEngine } from '../audio-engines.ts'
import { heardSeconds, hearingMs, hearingsAtOnce, hearingsWaiting } from '../bounds.ts'
import { encoderEnvironment } from '../demo/encoder-environment.ts'
import { Slots } from '../demo/slots.ts'
import { readHeard } from './read-heard.ts'

/** What its English model was made from. */
const rate = 16_000

/** The word list, sound model and language model are where Debian puts them. */
const args = ['-samprate', `${rate}`, '-time', 'yes', '-logfn', '/dev/null']

export interface PocketsphinxOptions {
  /** The program, where it is not on PATH. */
  path?: string
  /** What went wrong with the program, for a log; callers are told nothing of it. */
  onProblem?: (problem: string) => void
}

/**
 * English speech to words by the program `pocketsphinx_continuous` (Debian's packages `pocketsphinx` and
 * `pocketsphinx-en-us`): a third of the time that the recording lasts, and as good as such a small model is.
 */
export class Pocketsphinx implements TranscriptionEngine {
  readonly #path: string
  readonly #onProblem: (problem: string) => void
  readonly #slots = new Slots(hearingsAtOnce, hearingsWaiting)

  constructor({ path = 'pocketsphinx_continuous', onProblem = () => {} }: PocketsphinxOptions = {}) {
    this.#path = path
    this.#onProblem = onProblem
  }

  /** Throws `modelOverloaded` where too many wait, `invalidRequest` for another language than English and for what is too long. */
  async transcribe({ recording, language, timestamps, signal }: TranscriptionCall): Promise<TranscribedSpeech> {
    if (language !== undefined && !/^en\b/i.test(language)) {
      throw fieldError(['language'], 'This model hears English only; allowed values: en')
    }
    if (this.#slots.full) throw modelOverloaded()
    return this.#slots.run(async () => {
      const pcm = await samplesOf(recording, signal)
      const { text, words } = readHeard(await inFile(pcm, path => this.#hear(path, signal)))
      return { text, seconds: pcm.length / 2 / rate, ...(timestamps ? { timestamps: { word: words } } : {}) }
    })
  }

  #hear(file: string, signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const over = AbortSignal.any([signal, AbortSignal.timeout(hearingMs)])
      const child = spawn(this.#path, ['-infile', file, ...args], {
        stdio: ['ignore', 'pipe', 'ignore'],
        env: encoderEnvironment(),
      })
      const kill = () => void child.kill('SIGKILL')
      over.addEventListener('abort', kill, { once: true })
      const pieces: Buffer[] = []
      child.stdout.on('data', piece => pieces.push(piece))
      child.once('error', error => reject(this.#failed(error.message)))
      child.once('close', code => {
        over.removeEventListener('abort', kill)
        if (signal.aborted) reject(signal.reason)
        else if (over.aborted) reject(requestTimeout())
        else if (code !== 0) reject(this.#failed(`it ended with ${code}`))
        else resolve(Buffer.concat(pieces).toString())
      })
    })
  }

  #failed(problem: string): Error {
    this.#onProblem(`${this.#path}: ${problem}`)
    return inferenceFailed()
  }
}

/** A plain WAV is read here; all else takes ffmpeg. */
async function samplesOf(recording: Recording, signal: AbortSignal): Promise<Buffer> {
  const sound = recording.type === 'wav' ? soundOfWav(recording.bytes) : null
  if (sound && sound.samples.length / sound.rate > heardSeconds) throw tooLong()
  if (sound) return pcmOf(resampled(sound, rate))
  const pieces: Buffer[] = []
  const read = await decodeSound(recording, {
    ...{ rate, atMostSeconds: heardSeconds + 1 },
    ...{ onPiece: piece => pieces.push(piece), signal },
  })
  if (read === 'unknown') throw new Error('Recordings other than plain WAV need ffmpeg on PATH.')
  if (read === 'broken') throw unreadableSpeech()
  const pcm = Buffer.concat(pieces)
  if (pcm.length / 2 / rate > heardSeconds) throw tooLong()
  return pcm
}

const tooLong = () => fieldError(['file'], `is too long; this model hears ${heardSeconds} s at most`)

/** The program opens a file by name, and cannot open the pipes that Node gives its children. */
async function inFile<Result>(bytes: Buffer, run: (path: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-speech-'))
  try {
    const path = join(folder, 'speech.raw')
    await writeFile(path, bytes, { mode: 0o600 })
    return await run(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
