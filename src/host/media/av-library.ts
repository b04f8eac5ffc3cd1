import type { Options } from './conversion.ts'
import { FfmpegMissing } from './ffmpeg-missing.ts'

export interface AvLibrary {
  av: typeof import('node-av/lib')
  names: typeof import('node-av/constants')
}

/** npm drops an optional package that failed without a word, so only importing it tells. Throws `FfmpegMissing`. */
export async function loadAvLibrary(): Promise<AvLibrary> {
  try {
    const [av, names] = await Promise.all([import('node-av/lib'), import('node-av/constants')])
    av.Log.setLevel(names.AV_LOG_QUIET)
    return { av, names }
  } catch {
    throw new FfmpegMissing()
  }
}

/** What a step of a codec or a filter came to. */
export type Step = 'done' | 'hungry' | 'ended'

/** Throws `AvError` for what is neither success, nor hunger, nor the end. */
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
 * One by one, because a list of options that is given to a codec is freed twice (node-av 6.1.1). Throws `AvError` for one
 * that is unknown.
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
