import type { Clock } from '#contract/time.ts'
import { feeStepMs, feeWindowMs } from '../bounds.ts'

/** What was counted for one settlement. */
export interface CountedFee {
  /** Replaces the most that it could have cost by what it did cost. */
  correct(fee: bigint): void
}

/**
 * What settling may cost in any hour, in base units of the chain's own coin. A fee is counted when it is sent, at the
 * most that it may be. The count is this process's own and starts again with it.
 */
export class FeeBudget {
  readonly perHour: bigint
  readonly #clock: Clock
  readonly #steps = new Map<number, { spent: bigint }>()

  constructor(options: { perHour: bigint; clock: Clock }) {
    this.perHour = options.perHour
    this.#clock = options.clock
  }

  get left(): bigint {
    const step = this.#step()
    const steps = feeWindowMs / feeStepMs
    let spent = 0n
    for (const [at, counted] of this.#steps) {
      // A clock that is set back leaves steps behind that are still to come; they are as gone as the old ones.
      if (Math.abs(step - at) >= steps) this.#steps.delete(at)
      else spent += counted.spent
    }
    return spent < this.perHour ? this.perHour - spent : 0n
  }

  /** Null where the hour has no room for it; then nothing is counted. */
  count(fee: bigint): CountedFee | null {
    if (this.left < fee) return null
    const at = this.#step()
    const step = this.#steps.get(at) ?? { spent: 0n }
    this.#steps.set(at, step)
    step.spent += fee
    let counted = fee
    return {
      correct(actual) {
        step.spent += actual - counted
        counted = actual
      },
    }
  }

  #step(): number {
    return Math.floor(this.#clock.now() / feeStepMs)
  }
}

/** Runs works in the order of their asking, each after the last has ended, whichever way that was. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }
}
