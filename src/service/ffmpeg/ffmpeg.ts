import { modelOverloaded } from '#contract/errors.ts'
import { onceLoaded } from '../once-loaded.ts'
import { type ProgramEnd, type ProgramRun, runProgram } from '../programs/run-program.ts'
import { Slots } from '../programs/slots.ts'
import { FfmpegMissing, findFfmpeg } from './find-ffmpeg.ts'

export interface FfmpegOptions {
  /** Turns at once, and those that wait for one; what comes beyond is told to come again. */
  atOnce: number
  waiting: number
  /** How long one run may take. */
  timeoutMs: number
  /** Leads to the program; throws `FfmpegMissing`. */
  find?: () => Promise<string>
}

/** Runs ffmpeg, as `runProgram` does. */
export type RunFfmpeg = (run: Omit<ProgramRun, 'timeoutMs'>) => Promise<ProgramEnd>

/** ffmpeg for one purpose, whose runs wait for each other alone. */
export class Ffmpeg {
  readonly #find: () => Promise<string>
  readonly #slots: Slots
  readonly #timeoutMs: number

  constructor({ atOnce, waiting, timeoutMs, find = findFfmpeg }: FfmpegOptions) {
    // What is missing may be installed meanwhile.
    this.#find = onceLoaded(find)
    this.#slots = new Slots(atOnce, waiting)
    this.#timeoutMs = timeoutMs
  }

  /** Whether too many wait for another to come. */
  get full(): boolean {
    return this.#slots.full
  }

  async isInstalled(): Promise<boolean> {
    try {
      await this.#find()
      return true
    } catch (error) {
      if (error instanceof FfmpegMissing) return false
      throw error
    }
  }

  /** Gives `work` its turn, with the program to run. Throws `modelOverloaded` where too many wait, and `FfmpegMissing`. */
  async turn<Value>(work: (run: RunFfmpeg) => Promise<Value>): Promise<Value> {
    if (this.#slots.full) throw modelOverloaded()
    return this.#slots.run(async () => {
      const path = await this.#find()
      return work(run => runProgram(path, { ...run, timeoutMs: this.#timeoutMs }))
    })
  }
}
