import { isAhead } from '#contract/time.ts'
import { RecentMap } from '../recent-map.ts'

interface ThrottleRules {
  /** How many events in a window make its subject wait. */
  most: number
  inMs: number
  /** Maximum number of subjects; beyond it the least recently counted one is dropped. */
  subjects: number
}

/** Counts rare events, such as wrong keys from an address, in windows that begin with the first of them. */
export class Throttle {
  readonly #rules: ThrottleRules
  readonly #counts: RecentMap<{ sinceMs: number; count: number }>

  constructor(rules: ThrottleRules) {
    this.#rules = rules
    this.#counts = new RecentMap(rules.subjects)
  }

  /** Returns the whole seconds that the subject must wait; 0 if it need not. */
  waitSeconds(subject: string, nowMs: number): number {
    const counted = this.#counts.get(subject)
    if (!counted || counted.count < this.#rules.most) return 0
    return this.#isOver(counted, nowMs) ? 0 : Math.ceil((counted.sinceMs + this.#rules.inMs - nowMs) / 1_000)
  }

  count(subject: string, nowMs: number): void {
    const counted = this.#counts.get(subject)
    const isOver = !counted || this.#isOver(counted, nowMs)
    this.#counts.set(subject, isOver ? { sinceMs: nowMs, count: 1 } : { ...counted, count: counted.count + 1 })
  }

  #isOver({ sinceMs }: { sinceMs: number }, nowMs: number): boolean {
    const { inMs } = this.#rules
    return !isAhead(sinceMs + inMs, inMs, nowMs)
  }
}
