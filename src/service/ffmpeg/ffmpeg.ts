import { modelOverloaded } from '#contract/errors.ts'
import { FfmpegMissing, findFfmpeg } from '#programs/find-ffmpeg.ts'
import { type ProgramEnd, type ProgramRun, runProgram } from '#programs/run-program.ts'
import { Slots } from '#programs/slots.ts'
import { onceLoaded } from '../once-loaded.ts'

export interface FfmpegOptions {
  /** Turns at once, and those that wait for one; what comes beyond is told to come again. */
  atOnce: number
  waiting: number
  /** How long one run may take. */
  timeoutMs: number
  /** Leads to a program with these encoders; throws `FfmpegMissing`. */
  find?: FindFfmpeg
}

export type FindFfmpeg = (encoders: readonly string[]) => Promise<string>

/** Runs ffmpeg, as `runProgram` does. */
export type RunFfmpeg = (run: Omit<ProgramRun, 'timeoutMs'>) => Promise<ProgramEnd>

/** ffmpeg for one purpose, whose runs wait for each other alone. */
export class Ffmpeg {
  readonly #find: FindFfmpeg
  readonly #found = new Map<string, () => Promise<string>>()
  readonly #slots: Slots
  readonly #timeoutMs: number

  constructor({ atOnce, waiting, timeoutMs, find = findFfmpeg }: FfmpegOptions) {
    this.#find = find
    this.#slots = new Slots(atOnce, waiting)
    this.#timeoutMs = timeoutMs
  }

  /** Whether too many wait for another to come. */
  get full(): boolean {
    return this.#slots.full
  }

  /** Whether there is one that has these encoders. */
  async isInstalled(encoders: readonly string[] = []): Promise<boolean> {
    try {
      await this.#pathWith(encoders)
      return true
    } catch (error) {
      if (error instanceof FfmpegMissing) return false
      throw error
    }
  }

  /**
   * Gives `work` its turn, with a program to run that has the encoders. Throws `modelOverloaded` where too many wait,
   * `FfmpegMissing`, and the signal's reason, at once, while it waits.
   */
  async turn<Value>(
    work: (run: RunFfmpeg) => Promise<Value>,
    signal: AbortSignal,
    encoders: readonly string[] = [],
  ): Promise<Value> {
    if (this.#slots.full) throw modelOverloaded()
    return this.#slots.run(async () => {
      const path = await this.#pathWith(encoders)
      return work(run => runProgram(path, { ...run, timeoutMs: this.#timeoutMs }))
    }, signal)
  }

  /** What is missing may be installed meanwhile, and is looked for again. */
  #pathWith(encoders: readonly string[]): Promise<string> {
    const names = encoders.join()
    const find = this.#found.get(names) ?? onceLoaded(() => this.#find(encoders))
    this.#found.set(names, find)
    return find()
  }
}
