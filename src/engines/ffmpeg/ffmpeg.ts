import { requestTimeout } from '#contract/errors/errors.ts'
import { FfmpegMissing } from '#host/media/ffmpeg.ts'
import { MediaFailed, MediaWorkers, type MediaWorkersOptions, type RunMediaTask } from '#host/media/media-workers.ts'
import { onceLoaded } from '#host/packages.ts'
import { queueIsFull } from '#host/workers/slots.ts'

export type FfmpegOptions = Omit<MediaWorkersOptions, 'memoryMb'> & Partial<Pick<MediaWorkersOptions, 'memoryMb'>>

/** Decoding and encoding a file with up to 64 million pixels per frame takes some 500 MB. */
const mediaMemoryMb = 1_024

/** FFmpeg and the container readers for one purpose, with their own queue. */
export class Ffmpeg {
  readonly #workers: MediaWorkers
  readonly #lacking = new Map<string, () => Promise<readonly string[]>>()

  constructor(options: FfmpegOptions) {
    this.#workers = new MediaWorkers({ memoryMb: mediaMemoryMb, ...options })
  }

  /** Whether the queue is full, for this account or in total. */
  get full(): boolean {
    return this.#workers.full
  }

  /** Whether FFmpeg is installed with these encoders. */
  async isInstalled(encoders: readonly string[] = []): Promise<boolean> {
    try {
      return (await this.#lackingOf(encoders)).length === 0
    } catch (error) {
      if (error instanceof FfmpegMissing) return false
      throw error
    }
  }

  /** Throws `FfmpegMissing` if it is not installed or lacks one of these encoders. */
  async require(encoders: readonly string[]): Promise<void> {
    const lacking = await this.#lackingOf(encoders)
    if (lacking.length > 0) throw new FfmpegMissing(lacking)
  }

  /**
   * Runs `work` in its turn, with a function that runs tasks. Throws `modelOverloaded` if too many wait, for this
   * account or in total, `requestTimeout` if a task takes too long, which is not the file's fault, `FfmpegMissing`, and
   * the signal's reason.
   */
  async turn<Value>(work: (run: RunMediaTask) => Promise<Value>, signal: AbortSignal): Promise<Value> {
    if (this.#workers.full) throw queueIsFull()
    try {
      return await this.#workers.turn(work, signal)
    } catch (error) {
      throw error instanceof MediaFailed && error.problem === 'late' ? requestTimeout() : error
    }
  }

  /** A missing part may be installed later, so it is checked again. */
  #lackingOf(encoders: readonly string[]): Promise<readonly string[]> {
    const names = encoders.join()
    const lacking =
      this.#lacking.get(names) ??
      onceLoaded(() => this.turn(run => run('lacking', encoders), new AbortController().signal))
    this.#lacking.set(names, lacking)
    return lacking()
  }
}

/** Whether the file is at fault: it is not of its format, or takes more memory than it should. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof MediaFailed && (error.problem === 'unreadable' || error.problem === 'died')
