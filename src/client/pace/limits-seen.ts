import type { Clock } from '#contract/clock.ts'
import { bucketsStart } from './gate.ts'
import type { LimitWindow } from './limit-window.ts'
import { bucketNote } from './limiter.ts'
import type { SharedNotes } from './shared-notes.ts'

/** A limit as answers told it, for a service that lists none. Null where no answer said so. */
export interface SeenLimit {
  model: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  seenAtMs: number
}

/** What answers said of limits: the last one to this process, and by model the last ones to all who share the notes. */
export class LimitsSeen {
  /** Of the last answer that had any limit header. */
  last: LimitWindow | null = null
  readonly #notes: SharedNotes
  readonly #caller: string
  readonly #clock: Clock

  constructor(notes: SharedNotes, caller: string, clock: Clock) {
    this.#notes = notes
    this.#caller = caller
    this.#clock = clock
  }

  /** By the model's id; of a model with several limits the tightest. */
  models(): SeenLimit[] {
    const nowMs = this.#clock.now()
    const start = bucketsStart(this.#caller)
    const seen = new Map<string, SeenLimit>()
    for (const [key, text] of this.#notes.together(notes => notes.list(start))) {
      const model = key.slice(start.length).split(' ').slice(1).join(' ')
      const { requestsLimit, tokensLimit, seenAtMs } = bucketNote(text, nowMs)
      if (model === '' || (requestsLimit === null && tokensLimit === null)) continue
      const limit = { model, requestsPerMinute: requestsLimit, tokensPerMinute: tokensLimit, seenAtMs }
      const known = seen.get(model)
      if (!known || (requestsLimit ?? Infinity) < (known.requestsPerMinute ?? Infinity)) seen.set(model, limit)
    }
    return [...seen.values()].sort((one, other) => (one.model < other.model ? -1 : 1))
  }
}
