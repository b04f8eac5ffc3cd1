import { devNull } from 'node:os'
import { inferenceFailed, requestTimeout, unreadableSpeech } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { sniffType } from '#contract/wire/media-type.ts'
import { inFile } from '#host/files.ts'
import { FfmpegMissing } from '#host/media/ffmpeg.ts'
import { queueIsFull, Slots } from '#host/workers/slots.ts'
import { runSubprocess } from '#host/workers/subprocess.ts'
import { decodeAudio, encodeAudio } from '../audio/audio-codec.ts'
import { audioOfWav, pcmOf, type Recording, resampled } from '../audio/recording.ts'
import type { Carries, TranscriptionChoice } from '../ports/engine.ts'
import type {
  TranscribedSpeech,
  TranscriptCall,
  TranscriptionCall,
  TranscriptionEngine,
  VideoTranscriber,
} from '../ports/media-engines.ts'

/** Sample rate of a video's audio for transcription: speech loses nothing, and two hours are 58 MB as MP3. */
const heardRate = 16_000
const heardSeconds = 2 * 60 * 60

/** Timeout of one recording of speech: an hour takes twenty minutes of one core. */
const hearingMs = 1_800_000

/**
 * Recordings transcribed concurrently, each on its own core, and how many may wait; further ones are refused with
 * Retry-After.
 */
const hearingsAtOnce = 2
const hearingsWaiting = 32

export interface AudioTranscriberOptions {
  engine: TranscriptionEngine
  engineModel: string
}

/** Transcribes videos with an engine for recordings, which gets only the audio, as MP3. Needs the package node-av. */
export class AudioTranscriber implements VideoTranscriber {
  readonly #engine: TranscriptionEngine
  readonly #engineModel: string

  constructor({ engine, engineModel }: AudioTranscriberOptions) {
    this.#engine = engine
    this.#engineModel = engineModel
  }

  /** Throws `invalidRequest` if a video has no audio or too much. */
  async transcribe({ bytes, signal }: TranscriptCall): Promise<{ transcript: string }> {
    const audio = { samples: await audioOf(bytes, signal), rate: heardRate }
    const recording = { bytes: await encodeAudio(audio, 'mp3', signal), type: 'mp3' as const }
    const { text } = await this.#engine.transcribe({
      ...{ recording, timestamps: false, engineModel: this.#engineModel, signal },
    })
    return { transcript: text }
  }

  /** Closes the engine's connections, if it has any. */
  async close(): Promise<void> {
    await (this.#engine as { close?: () => Promise<void> }).close?.()
  }
}

async function audioOf(bytes: Buffer, signal: AbortSignal): Promise<Int16Array> {
  const type = sniffType(bytes) === 'video/webm' ? 'webm' : 'mp4'
  const asked = { rate: heardRate, atMostSeconds: heardSeconds + 1, to: 'pcm', signal } as const
  const read = await decodeAudio({ bytes, type }, asked)
  if (read === 'unknown') throw new FfmpegMissing()
  if (read === 'broken' || read.samples === 0) {
    throw fieldError(['url'], 'is a video without readable audio')
  }
  if (read.samples > heardSeconds * heardRate) throw fieldError(['url'], longSentence)
  const { buffer, byteOffset, byteLength } = read.bytes
  return new Int16Array(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer)
}

const longSentence = `is a video with more than ${heardSeconds / 60} minutes of audio; at most ${heardSeconds / 60} are transcribed`

/** The sample rate that its English model was trained with. */
const rate = 16_000

/** Debian installs the dictionary, acoustic model and language model in default locations. */
const args = ['-samprate', `${rate}`, '-time', 'yes', '-logfn', devNull]

const isEnglish = (language: unknown): boolean => /^en\b/i.test(String(language))

export interface PocketsphinxOptions {
  /** Path of the executable, if it is not on PATH. */
  path?: string
  /** What went wrong with the subprocess, for a log; callers are not told. */
  onProblem?: (problem: string) => void
}

/**
 * Transcribes English with `pocketsphinx_continuous` (Debian's packages `pocketsphinx` and `pocketsphinx-en-us`): takes
 * a third of the recording's length, with the quality of a small model.
 */
export class Pocketsphinx implements TranscriptionEngine {
  /** It supports word times, and only English. */
  readonly carries: Carries<TranscriptionChoice> = (field, value) => field !== 'language' || isEnglish(value)
  readonly #path: string
  readonly #onProblem: (problem: string) => void
  readonly #slots = new Slots(hearingsAtOnce, hearingsWaiting)

  constructor({ path = 'pocketsphinx_continuous', onProblem = () => {} }: PocketsphinxOptions = {}) {
    this.#path = path
    this.#onProblem = onProblem
  }

  /** Throws `modelOverloaded` if too many wait, `invalidRequest` if the recording is too long. */
  async transcribe({ recording, timestamps, signal }: TranscriptionCall): Promise<TranscribedSpeech> {
    if (this.#slots.full) throw queueIsFull()
    return this.#slots.run(async () => {
      const pcm = await samplesOf(recording, signal)
      // The executable opens a file by name, and cannot open the pipes that Node gives its children.
      const { text, words } = readHeard(await inFile('speech', pcm, path => this.#hear(path, signal)))
      return { text, seconds: pcm.length / 2 / rate, ...(timestamps ? { timestamps: { word: words } } : {}) }
    }, signal)
  }

  async #hear(file: string, signal: AbortSignal): Promise<string> {
    const pieces: Buffer[] = []
    const end = await runSubprocess(this.#path, {
      args: ['-infile', file, ...args],
      onOutput: piece => pieces.push(piece),
      timeoutMs: hearingMs,
      signal,
    }).catch(error => {
      signal.throwIfAborted()
      throw this.#failed(error.message)
    })
    if (end.kind === 'exited' && end.code !== 0) throw this.#failed(`it ended with ${end.code}`)
    if (end.kind === 'late') throw requestTimeout()
    if (end.kind === 'too-long') throw this.#failed('it wrote too much')
    return Buffer.concat(pieces).toString()
  }

  #failed(problem: string): Error {
    this.#onProblem(`${this.#path}: ${problem}`)
    return inferenceFailed()
  }
}

/** A plain WAV is read directly; everything else needs FFmpeg. */
async function samplesOf(recording: Recording, signal: AbortSignal): Promise<Buffer> {
  const audio = recording.type === 'wav' ? audioOfWav(recording.bytes) : null
  if (audio && audio.samples.length / audio.rate > heardSeconds) throw tooLong()
  if (audio) return pcmOf(resampled(audio, rate))
  const read = await decodeAudio(recording, { rate, atMostSeconds: heardSeconds + 1, to: 'pcm', signal })
  if (read === 'unknown') throw new FfmpegMissing()
  if (read === 'broken') throw unreadableSpeech()
  if (read.samples / rate > heardSeconds) throw tooLong()
  return read.bytes
}

const tooLong = () => fieldError(['file'], `is too long; this model transcribes ${heardSeconds} s at most`)

export interface HeardWord {
  word: string
  /** Seconds from the start. */
  start: number
  end: number
}

/** An output line: a word, its start and end, and its confidence. Markers for silence and noise are not words. */
const wordLine = /^(\S+) (\d+\.\d+) (\d+\.\d+) \d+\.\d+$/
const noise = /^(<.*>|\[.*\]|\+\+.*\+\+)$/

/** Returns what was heard, in order; a word in an alternative pronunciation ends with `(2)`. */
export function readHeard(output: string): { text: string; words: HeardWord[] } {
  const words = output.split('\n').flatMap(line => {
    const [, word = '', start, end] = wordLine.exec(line.trim()) ?? []
    if (!word || noise.test(word)) return []
    return [{ word: word.replace(/\(\d+\)$/, ''), start: Number(start), end: Number(end) }]
  })
  return { text: words.map(({ word }) => word).join(' '), words }
}
