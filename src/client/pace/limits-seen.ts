import type { Clock } from '#contract/time.ts'
import { bucketsStart } from './gate.ts'
import { bucketNote } from './limiter.ts'
import type { SharedNotes } from './shared-notes.ts'

/** A limit of a model and what is left of it, as answers told it. Null where no answer said so. */
export interface SeenLimit {
  model: string
  requestsPerMinute: number | null
  requestsLeft: number | null
  /** By our clock; null also where the window has ended since. */
  requestsResetAtMs: number | null
  tokensPerMinute: number | null
  tokensLeft: number | null
  tokensResetAtMs: number | null
  seenAtMs: number
}

/** What the last answers said of limits, by model, to all who share the notes. */
export class LimitsSeen {
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
      const { requestsLimit, tokensLimit, requestsLeft, tokensLeft, ...note } = bucketNote(text, nowMs)
      if (model === '' || [requestsLimit, tokensLimit, requestsLeft, tokensLeft].every(figure => figure === null))
        continue
      const { requestsResetAtMs, tokensResetAtMs, seenAtMs } = note
      const requests = { requestsPerMinute: requestsLimit, requestsLeft, requestsResetAtMs }
      const limit = { model, ...requests, tokensPerMinute: tokensLimit, tokensLeft, tokensResetAtMs, seenAtMs }
      const known = seen.get(model)
      if (!known || (requestsLimit ?? Infinity) < (known.requestsPerMinute ?? Infinity)) seen.set(model, limit)
    }
    return [...seen.values()].sort((one, other) => (one.model < other.model ? -1 : 1))
  }
}
