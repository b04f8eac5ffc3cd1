import { modelOffline, modelOverloaded } from '#contract/errors/errors.ts'
import type { Clock } from '#contract/time.ts'
import { callingAccount, childSpan, noteRetry, noteUpstream, withSpan } from '#host/tracing/tracing.ts'
import type { TextChunk } from '../ports/text-chunk.ts'
import { type Asker, type Member, PoolMembers, WaitingLine } from './pool-members.ts'
import {
  askedWaitMs,
  failoverMs,
  failureWord,
  isNotBegun,
  type PoolOptions,
  type Tried,
  type Upstream,
  type UpstreamState,
  verdictOf,
} from './upstream.ts'
import { UpstreamStream } from './upstream-stream.ts'

interface AnyCall {
  engineModel: string
  signal: AbortSignal
  takeDirectly?(chunk: TextChunk): boolean
}

type Asked<Call, Engine, Result> = (engine: Engine, call: Call) => Result

/** One call, and its attempts at upstreams. */
interface Journey<Engine> extends Asker<Engine> {
  signal: AbortSignal
  startedMs: number
  tried: Set<Member<Engine>>
  /** Upstreams that may have failed by their own fault; the end of the call shows whether they did. */
  failed: Set<Member<Engine>>
  /** Whether another upstream may be tried after this error. */
  mayRepeat: (error: unknown) => boolean
}

/** A stream whose first piece has arrived, and when it was requested. */
interface OpenedStream<Engine, Piece> {
  member: Member<Engine>
  stream: UpstreamStream<Piece>
  first: IteratorResult<Piece>
  startedMs: number
}

type StreamEnd = Parameters<UpstreamStream<unknown>['end']>[0] & object

/** A chunk that skips the iterator must be reported, or the stream would seem silent and be given up. */
const takenDirectly = ({ takeDirectly }: AnyCall, heard: () => void) => ({
  takeDirectly:
    takeDirectly &&
    ((chunk: TextChunk) => {
      heard()
      return takeDirectly(chunk)
    }),
})

const factsOf = ({ name, engineModel }: Upstream<unknown>) => ({
  'farebox.upstream': name,
  'farebox.engine_model': engineModel,
})

/**
 * Several upstreams as one: weighted distribution, health, a bounded queue, and another attempt until the first byte.
 */
export class UpstreamPool<Engine> {
  readonly #members: PoolMembers<Engine>
  readonly #line: WaitingLine<Member<Engine>>
  readonly #clock: Clock

  constructor({ queue, ...options }: PoolOptions<Engine>) {
    this.#clock = options.clock
    this.#members = new PoolMembers(options)
    this.#line = new WaitingLine({ ...queue, hint: () => this.#members.hint(this.#line.length) })
  }

  /**
   * Returns a complete answer from one of them. Throws the last one's error; `modelOverloaded` if all are full,
   * `modelOffline` if none is healthy. With `mayRepeat`, only errors that it accepts lead to another attempt.
   */
  async answer<Call extends AnyCall, Value>(
    call: Call,
    ask: Asked<Call, Engine, Promise<Value>>,
    mayRepeat: (error: unknown) => boolean = () => true,
  ): Promise<Value> {
    return (await this.answerBy(call, ask, mayRepeat)).value
  }

  /** Like `answer`, but also names the upstream that answered, because later calls must return to it. */
  async answerBy<Call extends AnyCall, Value>(
    call: Call,
    ask: Asked<Call, Engine, Promise<Value>>,
    mayRepeat: (error: unknown) => boolean = () => true,
    isProof: (value: Value) => boolean = () => true,
  ): Promise<{ value: Value; upstream: string }> {
    return this.#answered(this.#journey(call.signal, mayRepeat), call, ask, isProof)
  }

  async #answered<Call extends AnyCall, Value>(
    journey: Journey<Engine>,
    call: Call,
    ask: Asked<Call, Engine, Promise<Value>>,
    isProof: (value: Value) => boolean,
  ): Promise<{ value: Value; upstream: string }> {
    for (;;) {
      const member = await this.#place(journey)
      const startedMs = this.#clock.now()
      try {
        const asked = () => ask(member.engine, { ...call, engineModel: member.engineModel })
        const value = await withSpan('engine', factsOf(member), asked)
        if (isProof(value)) this.#members.well(member)
        else member.health.untold()
        this.#settle(journey, true)
        this.#members.took(startedMs)
        return { value, upstream: member.name }
      } catch (error) {
        if (!this.#goesOn(journey, member, error)) throw error
      } finally {
        this.#leave(member)
      }
    }
  }

  /**
   * Like `answerBy`, but at any upstream except this one, which did not take the work: if it is unreachable, that
   * counts against its health, otherwise it is spared for a while. Null if no other is available now.
   */
  async elsewhere<Call extends AnyCall, Value>(
    call: Call,
    name: string,
    ask: Asked<Call, Engine, Promise<Value>>,
    { isAway, isProof }: { isAway: boolean; isProof: (value: Value) => boolean },
  ): Promise<{ value: Value; upstream: string } | null> {
    const member = this.#members.named(name)
    const journey = this.#journey(call.signal, isNotBegun)
    if (!member) return null
    member.health.begin()
    const goesOn = this.#goesOn(journey, member, isAway ? modelOffline() : modelOverloaded())
    // Otherwise the work would go straight back to the upstream that it came from.
    if (isAway) member.health.busy(null)
    if (!goesOn) return null
    return this.#answered(journey, call, ask, isProof)
  }

  /** Streams from one of them; before the first piece another may take over, after it none does. */
  stream<Call extends AnyCall, Piece>(
    call: Call,
    ask: Asked<Call, Engine, AsyncIterable<Piece>>,
  ): AsyncIterableIterator<Piece> {
    const journey = this.#journey(call.signal, () => true)
    let opened: Promise<OpenedStream<Engine, Piece>> | null = null
    let running: OpenedStream<Engine, Piece> | null = null
    let isOver = false
    const end = (how: StreamEnd) => {
      if (isOver || !running) return
      isOver = true
      this.#endStream(journey, running, how)
    }
    const received = (step: IteratorResult<Piece>) => {
      if (step.done) end({ isDone: true })
      return step
    }
    const failed = (error: unknown): never => {
      end({ error })
      throw error
    }
    return {
      next: () => {
        if (isOver) return Promise.resolve(over)
        if (running) return running.stream.next().then(received, failed)
        opened ??= this.#open(journey, call, ask)
        return opened.then(
          stream => {
            running = stream
            return received(stream.first)
          },
          error => {
            isOver = true
            throw error
          },
        )
      },
      return: async () => {
        await opened?.catch(() => undefined)
        end({})
        isOver = true
        return over
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  /** Opens a stream whose first piece has arrived. */
  async #open<Call extends AnyCall, Piece>(
    journey: Journey<Engine>,
    call: Call,
    ask: Asked<Call, Engine, AsyncIterable<Piece>>,
  ): Promise<OpenedStream<Engine, Piece>> {
    for (;;) {
      const member = await this.#place(journey)
      const { engineModel, firstByteMs, idleMs } = member
      const startedMs = this.#clock.now()
      let stream: UpstreamStream<Piece> | null = null
      try {
        stream = new UpstreamStream({
          ...{ signal: call.signal, span: childSpan('engine', factsOf(member)), firstByteMs, idleMs },
          ask: signal =>
            ask(member.engine, { ...call, engineModel, signal, ...takenDirectly(call, () => stream?.heard()) }),
        })
        const first = await stream.first()
        this.#members.well(member)
        this.#settle(journey, true)
        return { member, stream, first, startedMs }
      } catch (error) {
        stream?.end({ error })
        const goesOn = this.#goesOn(journey, member, error)
        this.#leaveStream(journey, member)
        if (!goesOn) throw error
      }
    }
  }

  #endStream(
    journey: Journey<Engine>,
    { member, stream, startedMs }: OpenedStream<Engine, unknown>,
    end: StreamEnd,
  ): void {
    stream.end(end)
    if (end.isDone) this.#members.took(startedMs)
    if (end.error !== undefined) this.#goesOn(journey, member, end.error, true)
    this.#leaveStream(journey, member)
  }

  #leaveStream(journey: Journey<Engine>, member: Member<Engine>): void {
    if (!journey.failed.has(member)) member.health.untold()
    this.#leave(member)
  }

  /** Returns the upstream of this name, for work that it has begun; null if it is no longer configured. */
  named(name: string): Pick<Upstream<Engine>, 'engine' | 'engineModel'> | null {
    return this.#members.named(name)
  }

  /** Records that the upstream of this name answered a call that did not go through the pool. */
  proved(name: string): void {
    const member = this.#members.named(name)
    if (member) this.#members.well(member)
  }

  /** Every upstream's engine, whether or not it is healthy. */
  get engines(): readonly Engine[] {
    return this.#members.all.map(({ engine }) => engine)
  }

  get states(): readonly UpstreamState[] {
    return this.#members.states
  }

  /** Sends one trial that an operator requested; null if the model has none, or no upstream of this name. */
  tryOne(name: string): Promise<Tried | null> {
    return this.#members.tryOne(name)
  }

  /** Calls that wait for a free slot. */
  get waiting(): number {
    return this.#line.length
  }

  #journey(signal: AbortSignal, mayRepeat: Journey<Engine>['mayRepeat']): Journey<Engine> {
    const startedMs = this.#clock.now()
    return { signal, startedMs, caller: callingAccount(), tried: new Set(), failed: new Set(), mayRepeat }
  }

  async #place(journey: Journey<Engine>): Promise<Member<Engine>> {
    const take = () => this.#members.take(journey)
    try {
      journey.signal.throwIfAborted()
      // Callers that already wait come first.
      const free = this.#line.length ? null : take()
      const member = free ?? (await this.#line.join(take, journey.signal))
      noteUpstream(member.name)
      return member
    } catch (error) {
      this.#settle(journey)
      throw error
    }
  }

  #leave(member: Member<Engine>): void {
    member.running--
    this.#line.serve()
  }

  /** A failure counts if another upstream then succeeded, or none was tried; if two failed, the request is at fault. */
  #settle({ failed, caller }: Journey<Engine>, isWell = false): void {
    const isExcused = !isWell && failed.size > 1
    for (const member of failed) {
      if (isExcused) member.health.untold()
      else this.#members.suspected(member, caller)
    }
    failed.clear()
  }

  /** Records what the error says about the upstream; returns true if another one should be tried. */
  #goesOn(journey: Journey<Engine>, member: Member<Engine>, error: unknown, hasBegun = false): boolean {
    const goesOn = this.#notes(journey, member, error) && !hasBegun && this.#mayRepeat(journey, error)
    if (goesOn) noteRetry()
    else this.#settle(journey)
    return goesOn
  }

  /** Returns true if another upstream may do better. */
  #notes(journey: Journey<Engine>, member: Member<Engine>, error: unknown): boolean {
    const { failed, signal, tried } = journey
    if (signal.aborted) {
      member.health.untold()
      return false
    }
    const verdict = verdictOf(error)
    if (verdict === 'answered') {
      this.#members.well(member)
      // An upstream is not blamed for a request that another one refuses too.
      for (const other of failed) other.health.untold()
      failed.clear()
      return false
    }
    const word = failureWord(error)
    member.counts.failed(word)
    if (verdict === 'busy') member.health.busy(askedWaitMs(error))
    else if (verdict === 'away') this.#members.away(member, word)
    else failed.add(member)
    tried.add(member)
    return true
  }

  #mayRepeat(journey: Journey<Engine>, error: unknown): boolean {
    if (this.#clock.now() - journey.startedMs > failoverMs) return false
    return journey.mayRepeat(error) && this.#members.isOpen(journey)
  }
}

const over = { done: true, value: undefined } as const
