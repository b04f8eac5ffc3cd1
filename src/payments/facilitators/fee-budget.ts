import type { Clock } from '#contract/time.ts'
import { feeStepMs, feeWindowMs } from '../bounds.ts'

export interface CountedFee {
  /** Replaces the maximum cost with the actual one. */
  correct(fee: bigint): void
}

/**
 * Caps the cost of settling per hour, in base units of the chain's own coin. A fee is counted at its maximum when it is
 * sent. The count belongs to this process and starts over with it.
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
      // After the clock is set back, steps remain that lie in the future; they are discarded like the old ones.
      if (Math.abs(step - at) >= steps) this.#steps.delete(at)
      else spent += counted.spent
    }
    return spent < this.perHour ? this.perHour - spent : 0n
  }

  /** Returns null, and counts nothing, if the hour has no room for this fee. */
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

/** Runs tasks in order, each after the previous one has ended, whether or not it failed. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }
}
