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
  /** Origin and principal, by which the service identifies the caller. */
  caller: string
  random: () => number
}

/** How a call ended, and what its answer said about limits. */
interface PassageEnd {
  end: FlightEnd
  window?: LimitWindow | null
  /** The time of the requested retry, by our clock. */
  retryAtMs?: number | null
}

/** A call that was let through. Each method is called once; further calls have no effect. */
export interface Passage {
  /** The answer's head has arrived, or never will. Never throws, because an answer matters more than its note. */
  ended(how: PassageEnd): void
  /** The answer has been read or discarded. */
  left(): void
}

type Step = Verdict | Room

/** Every request passes this gate: limits, calls in flight, and the breaker that stays below the service's block. */
export class Gate {
  readonly #options: GateOptions
  readonly #inFlight = new Set<Passage>()

  constructor(options: GateOptions) {
    this.#options = options
  }

  /**
   * Waits, within the budget, until a call may be sent. `bucket` names the limit and model that the call counts
   * towards, null if unknown. Throws `breaker-open` or `limit-reached` with the time after which a retry makes sense.
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
        // A timer may fire slightly early; the service has said that the wait ends at this time.
        waitedUntilMs = step.untilMs
        continue
      }
      if (budget.isSpent) throw limitReached(clock.now() + turnPauseMs)
      await turns.untilLeft(woken => budget.waitUntil(woken, turnPauseMs * (0.5 + random() / 2)))
    }
  }

  /** The service reports that it blocks this caller. */
  blocked(): void {
    const { clock, caller, random } = this.#options
    const nowMs = clock.now()
    this.#quietly(notes => {
      writeCaller(notes, caller, withBlock(callerNote(notes.read(callerKey(caller)), nowMs), nowMs, random))
    })
  }

  /** The service had too many concurrent calls from this caller. */
  crowded(): void {
    this.#options.turns.refused()
  }

  /** Calls still in flight will get no answer. */
  close(): void {
    for (const passage of this.#inFlight) passage.ended({ end: 'unanswered' })
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

  /** Checks and admits in one step, so that two concurrent callers cannot take the same room. */
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

  /**
   * Returns the current note. Calls of processes that died are recorded at once, so that they count from when they were
   * noticed.
   */
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
        if (!this.#inFlight.delete(passage)) return
        if (how.end === 'succeeded') this.#options.turns.succeeded()
        this.#quietly(notes => this.#note(notes, id, bucket, how))
      },
      left: () => this.#options.turns.leave(id),
    }
    this.#inFlight.add(passage)
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

  // If this fails, the call stays recorded as in flight until its time is over, which is the safe side.
  #quietly(change: (notes: Notes) => void): void {
    try {
      this.#options.notes.together(change)
    } catch {}
  }
}

function bucketAfter(note: BucketNote, id: string, how: PassageEnd, nowMs: number): BucketNote {
  if (how.end === 'not-sent') return withoutCall(note, id, nowMs)
  const after = withAnswer(note, id, how.window ?? null, nowMs)
  // One answer must not stop all calls for a day, whatever wait it asks for.
  return how.retryAtMs == null ? after : withPause(after, Math.min(how.retryAtMs, nowMs + believedResetMs))
}

const callerKey = (caller: string): string => `caller ${caller}`

/** Prefix of the keys of all limits of a caller; the limit and model follow. */
const bucketsStart = (caller: string): string => `limit ${caller} `

const bucketKey = (caller: string, bucket: string): string => `${bucketsStart(caller)}${bucket}`

const writeCaller = (notes: Notes, caller: string, note: CallerNote): void =>
  notes.write(callerKey(caller), JSON.stringify(note))

const writeBucket = (notes: Notes, caller: string, bucket: string, note: BucketNote): void =>
  notes.write(bucketKey(caller, bucket), JSON.stringify(note))

/** The cause distinguishes a service that did not answer from one that answered with failures. */
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
  new ClientError('limit-reached', 'The service’s rate limit has been reached.', {
    wasSent: false,
    retryAtMs,
  })

/** A model's limit and the rest of it, according to answers. Null if no answer reported it. */
export interface SeenLimit {
  model: string
  requestsPerMinute: number | null
  requestsLeft: number | null
  /** By our clock; also null once the window has ended. */
  requestsResetAtMs: number | null
  tokensPerMinute: number | null
  tokensLeft: number | null
  tokensResetAtMs: number | null
  seenAtMs: number
}

/** What the latest answers reported about limits, by model, for all processes that share the notes. */
export class LimitsSeen {
  readonly #notes: SharedNotes
  readonly #caller: string
  readonly #clock: Clock

  constructor(notes: SharedNotes, caller: string, clock: Clock) {
    this.#notes = notes
    this.#caller = caller
    this.#clock = clock
  }

  /** Returns one entry per model id; the tightest limit if a model has several. */
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
