import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { modelOverloaded, requestTimeout } from '#contract/errors.ts'
import { encoderEnvironment } from '../engines/demo/encoder-environment.ts'
import { type Encoder, EncoderMissing, findEncoder } from '../engines/demo/find-encoder.ts'
import { Slots } from '../engines/demo/slots.ts'
import * as bounds from './bounds.ts'
import type { MediaFormat } from './media-format.ts'

export interface Probed {
  /** Up to the end of its last picture or sample, as its packets say it. */
  seconds: number
  /** Of a video; null for sound. */
  width: number | null
  height: number | null
  /** Pictures of a video; null for sound. */
  pictures: number | null
}

/** Reads how long a medium is. */
export interface MediaProbe {
  /**
   * Null for what cannot be read as that format. Throws where nothing on this machine can read any, `modelOverloaded` where
   * too many wait, and `requestTimeout` where it takes too long, which is not the medium's fault.
   */
  probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | null>
}

/** The reader of each format is named, so that no content is taken for a playlist or a script. */
const readers: Record<MediaFormat, string> = { mp4: 'mov', mov: 'mov', webm: 'matroska', wav: 'wav', mp3: 'mp3' }

/** Walks through a medium's packets with ffmpeg: a header may claim any length, and the length is the price. */
export class FfmpegProbe implements MediaProbe {
  readonly #find: () => Promise<Encoder>
  readonly #slots = new Slots(bounds.probesAtOnce, bounds.probesWaiting)
  #ffmpeg: Promise<Encoder> | null = null

  readonly #timeoutMs: number

  constructor(find: () => Promise<Encoder> = findEncoder, timeoutMs: number = bounds.probeMs) {
    this.#find = find
    this.#timeoutMs = timeoutMs
  }

  async probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | null> {
    if (this.#slots.full) throw modelOverloaded()
    const { path: program } = await this.#found()
    return this.#slots.run(() => inFile(bytes, path => this.#walk(program, path, format, signal)))
  }

  async #walk(program: string, path: string, format: MediaFormat, signal: AbortSignal): Promise<Probed | null> {
    const said = await output(program, walkArguments(path, format), { timeoutMs: this.#timeoutMs, signal })
    return said && probedOf(said, isSound(format))
  }

  /** What is missing may be installed meanwhile. */
  #found(): Promise<Encoder> {
    this.#ffmpeg ??= this.#find().catch(error => {
      this.#ffmpeg = null
      throw error
    })
    return this.#ffmpeg
  }
}

export const isProbeMissing = (error: unknown): boolean => error instanceof EncoderMissing

/** Formats that keep their index at the end cannot be read from a pipe. */
async function inFile<Value>(bytes: Buffer, use: (path: string) => Promise<Value>): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-media-'))
  try {
    const path = join(folder, 'medium')
    await writeFile(path, bytes, { mode: 0o600 })
    return await use(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const isSound = (format: MediaFormat): boolean => format === 'wav' || format === 'mp3'

const walkArguments = (path: string, format: MediaFormat): string[] => [
  ...['-hide_banner', '-nostdin', '-nostats', '-protocol_whitelist', 'file'],
  ...['-f', readers[format], '-i', `file:${path}`],
  ...['-map', isSound(format) ? '0:a:0' : '0:v:0', '-c', 'copy', '-progress', 'pipe:1', '-f', 'null', '-'],
]

/** Null where the program ends without success: then the file is none of its format. */
function output(
  program: string,
  args: string[],
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<{ out: string; log: string } | null> {
  const options = {
    timeout: timeoutMs,
    maxBuffer: bounds.probeOutputBytes,
    env: encoderEnvironment(),
    windowsHide: true,
    killSignal: 'SIGKILL' as const,
    signal,
  }
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, out, log) => {
      if (signal.aborted) reject(signal.reason)
      // An output too long ends it too, and is the medium's doing; only its time ends it without another code.
      else if (error?.killed && typeof error.code !== 'string') reject(requestTimeout())
      else resolve(error ? null : { out, log })
    })
  })
}

/** The longer of what the header claims and what the packets come to. */
function probedOf({ out, log }: { out: string; log: string }, ofSound: boolean): Probed | null {
  const [input = ''] = log.split('\nOutput #0')
  const claimed = secondsOf(/^ {2}Duration: ([\d:.]+),/m.exec(input)?.[1])
  const walked = Math.max(0, ...[...out.matchAll(/^out_time=([\d:.]+)$/gm)].map(([, time]) => secondsOf(time)))
  const seconds = Math.max(claimed, walked)
  if (!(seconds > 0)) return null
  if (ofSound) return { seconds, width: null, height: null, pictures: null }
  const [, width, height] = /^ {2}Stream #0.*: Video: .*?[ ,](\d{1,5})x(\d{1,5})[ ,]/m.exec(input) ?? []
  if (!width || !height) return null
  const pictures = Math.max(0, ...[...out.matchAll(/^frame= *(\d+)$/gm)].map(([, count]) => Number(count)))
  return { seconds, width: Number(width), height: Number(height), pictures }
}

/** `00:01:02.50` is 62.5; 0 where it is nothing. */
const secondsOf = (clock: string | undefined): number =>
  clock?.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0) ?? 0
