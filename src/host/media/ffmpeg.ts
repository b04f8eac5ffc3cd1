import type { Options } from './tasks.ts'

export interface AvLibrary {
  av: typeof import('node-av/lib')
  names: typeof import('node-av/constants')
}

/**
 * npm silently drops an optional package that failed to install, so only an import shows whether it is there. Throws
 * `FfmpegMissing`.
 */
export async function loadAvLibrary(): Promise<AvLibrary> {
  try {
    const [av, names] = await Promise.all([import('node-av/lib'), import('node-av/constants')])
    av.Log.setLevel(names.AV_LOG_QUIET)
    return { av, names }
  } catch {
    throw new FfmpegMissing()
  }
}

/** The result of a step of a codec or filter. */
export type Step = 'done' | 'hungry' | 'ended'

/** Throws `AvError` for any code other than success, "needs input" and "end". */
export function stepOf({ av, names }: AvLibrary, code: number, what: string): Step {
  if (code >= 0) return 'done'
  if (code === names.AVERROR_EOF) return 'ended'
  if (code === names.AVERROR_EAGAIN) return 'hungry'
  throw new AvError(what, av.FFmpegError.strerror(code))
}

/** Throws `AvError` for anything but success. */
export function succeed({ av }: AvLibrary, code: number, what: string): void {
  if (code < 0) throw new AvError(what, av.FFmpegError.strerror(code))
}

/**
 * Sets options one by one, because a list of options given to a codec is freed twice (node-av 6.1.1). Throws `AvError`
 * for an unknown option.
 */
export function setOptions(
  library: AvLibrary,
  to: { setOption(name: string, value: string): number },
  all: Options = {},
) {
  for (const [name, value] of Object.entries(all)) succeed(library, to.setOption(name, value), `the option ${name}`)
}

/** FFmpeg refused a file, a filter or a setting. */
export class AvError extends Error {
  constructor(what: string, words: string) {
    super(`${what}: ${words}`)
    this.name = 'AvError'
  }
}

/** How to install the package: without its script, which would download an executable that we do not use. */
const install = 'npm install --ignore-scripts node-av'

/** FFmpeg is not installed, or lacks encoders. */
export class FfmpegMissing extends Error {
  /** A sentence on the problem, and another on what to do. */
  readonly problem: string
  readonly nextStep: string
  /** The command that installs it. */
  readonly install = install
  /** Whether it is installed, although without some of the encoders. */
  readonly isInstalled: boolean

  /** `lacks` are the encoders that the installed version does not have. */
  constructor(lacks: readonly string[] = []) {
    const problem = lacks.length
      ? `The installed package node-av lacks ${lacks.join(' and ')}`
      : 'The package node-av, which contains FFmpeg, is not installed'
    super(`${problem}: run \`${install}\`.`)
    this.name = 'FfmpegMissing'
    this.isInstalled = lacks.length > 0
    this.problem = `${problem}.`
    this.nextStep = `Run \`${install}\`.`
  }
}

/** Encoders by FFmpeg's names. Reading, measuring and decoding need none of them. */

/** Videos are encoded with H.264 and AAC. */
export const videoEncoders = ['libx264', 'aac'] as const

/** The encoder of each audio format. */
export const audioEncoders = { mp3: 'libmp3lame', opus: 'libopus', aac: 'aac', flac: 'flac' } as const
