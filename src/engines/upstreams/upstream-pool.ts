import { modelOffline, modelOverloaded } from '#contract/errors/errors.ts'
import type { Clock } from '#contract/time.ts'
import { callingAccount, childSpan, noteRetry, withSpan } from '#host/tracing/tracing.ts'
import { type Asker, type Member, PoolMembers, WaitingLine } from './pool-members.ts'
import {
  askedWaitMs,
  failoverMs,
  failureWord,
  isNotBegun,
  type PoolOptions,
  type Upstream,
  type UpstreamState,
  verdictOf,
} from './upstream.ts'
import { UpstreamStream } from './upstream-stream.ts'

interface AnyCall {
  engineModel: string
  signal: AbortSignal
}

type Asked<Call, Engine, Result> = (engine: Engine, call: Call) => Result

/** One call on its way over upstreams. */
interface Journey<Engine> extends Asker<Engine> {
  signal: AbortSignal
  startedMs: number
  tried: Set<Member<Engine>>
  /** Where it failed in a way that may be its own doing: what that tells shows at its end. */
  failed: Set<Member<Engine>>
  /** Whether another may be asked after this error. */
  mayRepeat: (error: unknown) => boolean
}

/** A stream whose first piece has come, and when it was asked for. */
interface OpenedStream<Engine, Piece> {
  member: Member<Engine>
  stream: UpstreamStream<Piece>
  first: IteratorResult<Piece>
  startedMs: number
}

type StreamEnd = Parameters<UpstreamStream<unknown>['end']>[0] & object

const factsOf = ({ name, engineModel }: Upstream<unknown>) => ({
  'farebox.upstream': name,
  'farebox.engine_model': engineModel,
})

/** Several upstreams as one: shares by weight, health, a bounded line, and another try until the first byte. */
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
   * A whole answer of one of them. Throws the last one's error; `modelOverloaded` where all are full, `modelOffline`
   * where none is healthy. With `mayRepeat` only those errors lead to another.
   */
  async answer<Call extends AnyCall, Value>(
    call: Call,
    ask: Asked<Call, Engine, Promise<Value>>,
    mayRepeat: (error: unknown) => boolean = () => true,
  ): Promise<Value> {
    return (await this.answerBy(call, ask, mayRepeat)).value
  }

  /** The same with the name of the upstream that answered, for calls that must return to it. */
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
   * As `answerBy` by any other than the one of this name, which did not take the work: where it is away that counts
   * against it, else it is spared for a while. Null where no other one is there for it now.
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
    // Before it is left out it would be asked again at once, by the very work that just came from there.
    if (isAway) member.health.busy(null)
    if (!goesOn) return null
    return this.#answered(journey, call, ask, isProof)
  }

  /** A stream of one of them; before its first piece another may take over, after it none does. */
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
    const told = (step: IteratorResult<Piece>) => {
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
        if (running) return running.stream.next().then(told, failed)
        opened ??= this.#open(journey, call, ask)
        return opened.then(
          stream => {
            running = stream
            return told(stream.first)
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

  /** One whose first piece has come. */
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
          ask: signal => ask(member.engine, { ...call, engineModel, signal }),
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

  /** The one of this name, for work that it has begun; null where it is not configured any more. */
  named(name: string): Pick<Upstream<Engine>, 'engine' | 'engineModel'> | null {
    return this.#members.named(name)
  }

  /** Notes that the one of this name answered what it was asked beside the calls here. */
  proved(name: string): void {
    const member = this.#members.named(name)
    if (member) this.#members.well(member)
  }

  /** Of every upstream, whether it is well or not. */
  get engines(): readonly Engine[] {
    return this.#members.all.map(({ engine }) => engine)
  }

  get states(): readonly UpstreamState[] {
    return this.#members.states
  }

  /** Calls that wait for a free place. */
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
      // Waiting callers came first.
      const member = this.#line.length ? null : take()
      return member ?? (await this.#line.join(take, journey.signal))
    } catch (error) {
      this.#settle(journey)
      throw error
    }
  }

  #leave(member: Member<Engine>): void {
    member.running--
    this.#line.serve()
  }

  /** Failures count where another upstream did the same well, or none was asked; at two of them the request is at fault. */
  #settle({ failed, caller }: Journey<Engine>, isWell = false): void {
    const isExcused = !isWell && failed.size > 1
    for (const member of failed) {
      if (isExcused) member.health.untold()
      else this.#members.suspected(member, caller)
    }
    failed.clear()
  }

  /** Notes what the error says of the upstream; true where another one is asked. */
  #goesOn(journey: Journey<Engine>, member: Member<Engine>, error: unknown, hasBegun = false): boolean {
    const goesOn = this.#notes(journey, member, error) && !hasBegun && this.#mayRepeat(journey, error)
    if (goesOn) noteRetry()
    else this.#settle(journey)
    return goesOn
  }

  /** True where another upstream may do better. */
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
