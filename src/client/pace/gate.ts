import { randomUUID } from 'node:crypto'
import type { Clock } from '#contract/time.ts'
import { ClientError } from '../client-error.ts'
import { believedResetMs, turnPauseMs } from '../limits.ts'
import type { WaitBudget } from '../retry/retry.ts'
import { spread } from '../retry/retry-after.ts'
import {
  type CallerNote,
  callerNote,
  type FlightEnd,
  judge,
  type Verdict,
  withBlock,
  withEnd,
  withFlight,
  withoutGone,
} from './breaker.ts'
import type { InFlightLimit } from './in-flight-limit.ts'
import {
  type BucketNote,
  bucketNote,
  type LimitWindow,
  type Room,
  roomIn,
  withAnswer,
  withCall,
  withoutCall,
  withoutGoneCalls,
  withPause,
} from './limiter.ts'
import type { Notes, SharedNotes } from './shared-notes.ts'

interface GateOptions {
  notes: SharedNotes
  turns: InFlightLimit
  clock: Clock
  /** Origin and principal: whom the service counts. */
  caller: string
  random: () => number
}

/** How a call ended, and what its answer said of limits. */
interface PassageEnd {
  end: FlightEnd
  window?: LimitWindow | null
  /** When a refusal says to retry, by our clock. */
  comeAgainAtMs?: number | null
}

/** One call that was let through. Both are called once; what is called again changes nothing. */
export interface Passage {
  /** The answer's head has come, or none will. Never throws, because an answer is worth more than its note. */
  ended(how: PassageEnd): void
  /** The answer has been read or thrown away. */
  left(): void
}

type Step = Verdict | Room

/** What every request passes: its limits, the calls that are in flight, and the breaker below the service's block. */
export class Gate {
  readonly #options: GateOptions
  readonly #underWay = new Set<Passage>()

  constructor(options: GateOptions) {
    this.#options = options
  }

  /**
   * Waits until a call may be sent, within its budget. `bucket` names the limit and the model that it counts for; null
   * where nobody knows. Throws `breaker-open` or `limit-reached`, with the time from which a retry is worth it.
   */
  async enter(bucket: string | null, budget: WaitBudget): Promise<Passage> {
    const { clock, random, turns } = this.#options
    const id = randomUUID()
    let waitedUntilMs = 0
    for (;;) {
      budget.throwIfAborted()
      const step = this.#tryToEnter(id, bucket, waitedUntilMs)
      if (step.kind === 'go') return this.#passage(id, bucket)
      if (step.kind === 'open') throw breakerOpen(step.untilMs, step.isUnanswered)
      if (step.kind === 'used-up') {
        const waitMs = step.untilMs - clock.now()
        if (!budget.covers(waitMs)) throw limitReached(step.untilMs)
        await budget.wait(spread(waitMs, random))
        // A timer may be early by a moment, and the service has said that this one is over.
        waitedUntilMs = step.untilMs
        continue
      }
      if (budget.isSpent) throw limitReached(clock.now() + turnPauseMs)
      await turns.untilLeft(woken => budget.waitUntil(woken, turnPauseMs * (0.5 + random() / 2)))
    }
  }

  /** The service has said that it blocks this caller. */
  blocked(): void {
    const { clock, caller, random } = this.#options
    const nowMs = clock.now()
    this.#quietly(notes => {
      writeCaller(notes, caller, withBlock(callerNote(notes.read(callerKey(caller)), nowMs), nowMs, random))
    })
  }

  /** The service had too many calls of this caller at once. */
  crowded(): void {
    this.#options.turns.refused()
  }

  /** What is still in flight gets no answer any more. */
  close(): void {
    for (const passage of this.#underWay) passage.ended({ end: 'unanswered' })
    this.#options.notes.close()
  }

  #tryToEnter(id: string, bucket: string | null, waitedUntilMs: number): Step {
    const { notes, turns } = this.#options
    if (!turns.take(id)) return { kind: 'full' }
    let step: Step | undefined
    try {
      step = notes.together(each => this.#admit(each, id, bucket, waitedUntilMs))
      return step
    } finally {
      if (step?.kind !== 'go') turns.giveBack(id)
    }
  }

  /** Looks and takes in one: of callers that come together, no two see the same room. */
  #admit(notes: Notes, id: string, bucket: string | null, waitedUntilMs: number): Step {
    const { clock, caller, turns } = this.#options
    const nowMs = clock.now()
    const note = this.#caller(notes, nowMs)
    const verdict = judge(note, nowMs, { own: turns.taken, mostOwn: turns.most })
    if (verdict.kind !== 'go') return verdict
    if (bucket !== null) {
      const windowMs = Math.max(nowMs, waitedUntilMs)
      const { owner } = this.#options.notes
      const noted = bucketNote(notes.read(bucketKey(caller, bucket)), windowMs)
      const known = withoutGoneCalls(noted, owner, nowMs)
      const room = roomIn(known, windowMs)
      if (room.kind !== 'go') return room
      writeBucket(notes, caller, bucket, withCall(known, id, nowMs, owner?.name))
    }
    writeCaller(notes, caller, withFlight(note, id, verdict.isProbe, nowMs, this.#options.notes.owner?.name))
    return verdict
  }

  /** The note as it holds now. That others have died is written down at once, so that it counts from when it was seen. */
  #caller(notes: Notes, nowMs: number): CallerNote {
    const { caller, notes: shared } = this.#options
    const noted = callerNote(notes.read(callerKey(caller)), nowMs)
    const note = withoutGone(noted, shared.owner, nowMs)
    if (note !== noted) writeCaller(notes, caller, note)
    return note
  }

  #passage(id: string, bucket: string | null): Passage {
    const passage: Passage = {
      ended: how => {
        if (!this.#underWay.delete(passage)) return
        if (how.end === 'succeeded') this.#options.turns.succeeded()
        this.#quietly(notes => this.#note(notes, id, bucket, how))
      },
      left: () => this.#options.turns.leave(id),
    }
    this.#underWay.add(passage)
    return passage
  }

  #note(notes: Notes, id: string, bucket: string | null, how: PassageEnd): void {
    const { clock, caller } = this.#options
    const nowMs = clock.now()
    writeCaller(notes, caller, withEnd(callerNote(notes.read(callerKey(caller)), nowMs), id, how.end, nowMs))
    if (bucket === null) return
    writeBucket(
      notes,
      caller,
      bucket,
      bucketAfter(bucketNote(notes.read(bucketKey(caller, bucket)), nowMs), id, how, nowMs),
    )
  }

  // The call stays noted as in flight until its time is over, which is the careful side.
  #quietly(change: (notes: Notes) => void): void {
    try {
      this.#options.notes.together(change)
    } catch {}
  }
}

function bucketAfter(note: BucketNote, id: string, how: PassageEnd, nowMs: number): BucketNote {
  if (how.end === 'not-sent') return withoutCall(note, id, nowMs)
  const after = withAnswer(note, id, how.window ?? null, nowMs)
  // One answer must not stop all calls of a day, whatever it said of the next.
  return how.comeAgainAtMs == null ? after : withPause(after, Math.min(how.comeAgainAtMs, nowMs + believedResetMs))
}

const callerKey = (caller: string): string => `caller ${caller}`

/** What starts the keys of all limits of a caller; the rest is the limit and the model. */
const bucketsStart = (caller: string): string => `limit ${caller} `

const bucketKey = (caller: string, bucket: string): string => `${bucketsStart(caller)}${bucket}`

const writeCaller = (notes: Notes, caller: string, note: CallerNote): void =>
  notes.write(callerKey(caller), JSON.stringify(note))

const writeBucket = (notes: Notes, caller: string, bucket: string, note: BucketNote): void =>
  notes.write(bucketKey(caller, bucket), JSON.stringify(note))

/** Its cause tells a service that gave no answer from one that answered with failures. */
const breakerOpen = (retryAtMs: number, isUnanswered = false): ClientError =>
  isUnanswered
    ? new ClientError('breaker-open', 'The service did not answer the last requests, so this one was not sent.', {
        wasSent: false,
        retryAtMs,
        cause: new ClientError('no-answer', 'The service gave no answer.', { wasSent: true }),
      })
    : new ClientError('breaker-open', 'Too many requests to the service have failed, so this one was not sent.', {
        wasSent: false,
        retryAtMs,
      })

const limitReached = (retryAtMs: number): ClientError =>
  new ClientError('limit-reached', 'The service’s rate limit is used up for now.', {
    wasSent: false,
    retryAtMs,
  })

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
