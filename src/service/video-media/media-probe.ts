import { FfmpegMissing } from '#programs/find-ffmpeg.ts'
import { inFile } from '#programs/in-folder.ts'
import { Ffmpeg, type FfmpegOptions, type RunFfmpeg } from '../ffmpeg/ffmpeg.ts'
import { succeeded } from '../ffmpeg/succeeded.ts'
import { probeMs, probeOutputBytes, probesAtOnce, probesWaiting } from './bounds.ts'
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
  readonly #ffmpeg: Ffmpeg

  constructor({ find, timeoutMs = probeMs }: Partial<Pick<FfmpegOptions, 'find' | 'timeoutMs'>> = {}) {
    this.#ffmpeg = new Ffmpeg({ atOnce: probesAtOnce, waiting: probesWaiting, timeoutMs, ...(find ? { find } : {}) })
  }

  async probe(bytes: Buffer, format: MediaFormat, signal: AbortSignal): Promise<Probed | null> {
    const said = await this.#ffmpeg.turn(run => inFile('media', bytes, path => walk(run, path, format, signal)), signal)
    return said && probedOf(said, isSound(format))
  }
}

export const isProbeMissing = (error: unknown): boolean => error instanceof FfmpegMissing

const isSound = (format: MediaFormat): boolean => format === 'wav' || format === 'mp3'

const walkArguments = (path: string, format: MediaFormat): string[] => [
  ...['-hide_banner', '-nostdin', '-nostats', '-protocol_whitelist', 'file'],
  ...['-f', readers[format], '-i', `file:${path}`],
  ...['-map', isSound(format) ? '0:a:0' : '0:v:0', '-c', 'copy', '-progress', 'pipe:1', '-f', 'null', '-'],
]

/** Null where the program ends without success, or says too much: then the file is none of its format. */
async function walk(run: RunFfmpeg, path: string, format: MediaFormat, signal: AbortSignal) {
  const [out, log]: [Buffer[], Buffer[]] = [[], []]
  const end = await run({
    args: walkArguments(path, format),
    onOutput: piece => out.push(piece),
    onLog: piece => log.push(piece),
    outputBytes: probeOutputBytes,
    signal,
  })
  return succeeded(end) ? { out: Buffer.concat(out).toString(), log: Buffer.concat(log).toString() } : null
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
