import { modelOffline, modelOverloaded } from '#contract/errors/errors.ts'
import { blameless } from '#contract/errors/service-error.ts'
import type { Clock } from '#contract/time.ts'
import { inRequest } from '#host/tracing/tracing.ts'
import {
  failureWord,
  longestHintMs,
  newestShare,
  type PoolOptions,
  probeMs,
  type Tried,
  type TriedMedia,
  trialMs,
  type Upstream,
  UpstreamCounts,
  type UpstreamNews,
  type UpstreamState,
  usualCallMs,
  verdictOf,
} from './upstream.ts'
import { UpstreamHealth } from './upstream-health.ts'

export interface Member<Engine> extends Upstream<Engine> {
  health: UpstreamHealth
  running: number
  counts: UpstreamCounts
  /** For smooth weighted round robin: grows by the weight, falls by the sum of weights when chosen. */
  turn: number
  /** Sends the upstream a small request on our own account. */
  probe: ((signal: AbortSignal) => Promise<unknown>) | null
  /** Sends a request that an operator asked for, and returns what the upstream made. */
  trial: ((signal: AbortSignal) => Promise<TriedMedia>) | null
}

/** Who calls, and which upstreams the call has already tried. */
export interface Asker<Engine> {
  tried: ReadonlySet<Member<Engine>>
  /** The calling account; null outside a request. */
  caller: string | null
}

/** The upstreams of a pool: whose turn it is, their health, and when a slot will be free. */
export class PoolMembers<Engine> {
  readonly all: readonly Member<Engine>[]
  readonly #clock: Clock
  readonly #news: UpstreamNews | null
  #callMs = usualCallMs

  constructor({ upstreams, clock, news, probe, trial }: Omit<PoolOptions<Engine>, 'queue'>) {
    this.#clock = clock
    this.#news = news ?? null
    this.all = upstreams.map(upstream => ({
      ...upstream,
      ...{ health: new UpstreamHealth(clock), running: 0, counts: upstream.counts ?? new UpstreamCounts(), turn: 0 },
      probe: probe ? signal => probe(upstream.engine, { engineModel: upstream.engineModel, signal }) : null,
      trial: trial ? signal => trial(upstream.engine, { engineModel: upstream.engineModel, signal }) : null,
    }))
  }

  named(name: string): Member<Engine> | null {
    return this.all.find(member => member.name === name) ?? null
  }

  get states(): readonly UpstreamState[] {
    return this.all.map(({ name, weight, concurrency, health, running, counts }) => ({
      ...{ name, weight, concurrency, state: health.state, running, calls: counts.calls },
      failures: { ...counts.failures },
    }))
  }

  /**
   * Takes a slot at an upstream that this caller has not tried; null if the healthy ones are full. Throws if none is
   * healthy.
   */
  take({ tried, caller }: Asker<Engine>): Member<Engine> | null {
    const open = this.all.filter(member => !tried.has(member) && member.health.isOpen)
    if (!open.length) throw this.#noneOpen()
    const free = open.filter(({ running, concurrency }) => running < concurrency)
    const member = this.#nextOf(free.filter(({ health }) => !health.isPoorFor(caller))) ?? this.#nextOf(free)
    if (!member) return null
    member.running++
    member.counts.calls++
    member.health.begin()
    return member
  }

  isOpen({ tried }: Asker<Engine>): boolean {
    return this.all.some(other => !tried.has(other) && other.health.isOpen)
  }

  well(member: Member<Engine>): void {
    if (member.health.succeeded()) this.#news?.back(member.name)
  }

  took(startedMs: number): void {
    const tookMs = Math.max(1, this.#clock.now() - startedMs)
    this.#callMs += (tookMs - this.#callMs) * newestShare
  }

  /** The upstream is unreachable, or refuses our key: no request can cause that. */
  away(member: Member<Engine>, word: string): void {
    if (member.health.wasAway()) this.#news?.leftOut(member.name, word)
  }

  /** The upstream failed a request that may itself be at fault; a probe will tell. */
  suspected(member: Member<Engine>, caller: string | null): void {
    const { health } = member
    const wasTrial = health.state !== 'up'
    if (!health.suspected(caller)) return
    if (member.probe) void this.#look(member)
    // Such an upstream is left out only because of refused connections, and this time it answered.
    else if (wasTrial) this.well(member)
  }

  async #look(member: Member<Engine>): Promise<void> {
    const { health, name, probe } = member
    if (!health.beginProbe()) return
    try {
      const signal = AbortSignal.timeout(probeMs)
      // Runs outside the request that triggered it: with neither its account nor its trace.
      await inRequest(ourOwn, () => probe?.(signal))
      this.#works(member)
    } catch (error) {
      const verdict = verdictOf(error)
      if (verdict === 'answered') this.#works(member)
      else if (verdict === 'busy') health.busy(null)
      else if (health.failedProbe()) this.#news?.leftOut(name, failureWord(error))
    } finally {
      health.endProbe()
    }
  }

  /**
   * Sends one trial that an operator requested. An answer brings the upstream back into service; a failure changes
   * nothing, because the usual rules decide. Null if the model has no trial, or no upstream of this name.
   */
  async tryOne(name: string): Promise<Tried | null> {
    const member = this.named(name)
    if (!member?.trial && !member?.probe) return null
    const signal = AbortSignal.timeout(member.trial ? trialMs : probeMs)
    try {
      const made = await inRequest(ourOwn, async () => {
        if (member.trial) return { made: await member.trial(signal) }
        await member.probe?.(signal)
        return {}
      })
      this.#works(member)
      return { outcome: 'works', word: null, ...made }
    } catch (error) {
      const word = failureWord(error)
      if (signal.aborted) return { outcome: 'silent', word }
      const verdict = verdictOf(error)
      if (verdict === 'answered') return { outcome: 'refused', word }
      return { outcome: verdict === 'busy' ? 'busy' : 'failed', word }
    }
  }

  /** Failures that callers met while it was up still show whose requests fail there. */
  #works(member: Member<Engine>): void {
    if (member.health.state !== 'up') this.well(member)
  }

  /**
   * Returns headers that say when a slot is likely to be free: after the callers that already wait, at the recent pace,
   * and not before an upstream accepts calls.
   */
  hint(waiting: number): Record<string, string> {
    const places = this.all.reduce((sum, { health, concurrency }) => sum + (health.isOpen ? concurrency : 0), 0)
    const likelyMs = (this.#callMs * (waiting + 1)) / Math.max(1, places)
    const openMs = Math.min(...this.all.map(({ health }) => (health.isOpen ? 0 : health.waitMs)))
    return retryHeader(Math.min(longestHintMs, Math.max(likelyMs, openMs)))
  }

  /** Smooth weighted round robin: with weights 3 and 1 the order is a a b a, not a a a b. */
  #nextOf(free: readonly Member<Engine>[]): Member<Engine> | null {
    let best: Member<Engine> | null = null
    let all = 0
    for (const member of free) {
      member.turn += member.weight
      all += member.weight
      if (!best || member.turn > best.turn) best = member
    }
    if (best) best.turn -= all
    return best
  }

  #noneOpen() {
    const waits = this.all.map(({ health }) => health.waitMs)
    const header = retryHeader(Math.min(longestHintMs, ...waits))
    // An upstream that is only being spared is not offline, and it is not this caller's fault.
    const isSpared = this.all.some(({ health }) => health.state === 'up')
    return blameless(isSpared ? modelOverloaded(header) : modelOffline(header))
  }
}

const ourOwn = { requestId: 'probe', trace: null, account: null, retries: 0 }

const retryHeader = (waitMs: number) => ({ 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) })

/** Tries to take a place; null if none is free yet. Throws if waiting no longer makes sense. */
type Take<Place> = () => Place | null

interface Waiter<Place> {
  take: Take<Place>
  resolve(place: Place): void
  reject(error: unknown): void
}

interface LineOptions {
  /** Maximum number of waiting callers; further ones are refused. */
  length: number
  waitMs: number
  /** The headers for callers who get no slot. */
  hint: () => Record<string, string>
}

/** First come, first served: the longest waiting caller gets the next free slot. */
export class WaitingLine<Place> {
  readonly #options: LineOptions
  readonly #waiters = new Set<Waiter<Place>>()

  constructor(options: LineOptions) {
    this.#options = options
  }

  get length(): number {
    return this.#waiters.size
  }

  /** Rejects with `modelOverloaded` at once if the queue is full, otherwise after the longest wait. */
  join(take: Take<Place>, signal: AbortSignal): Promise<Place> {
    const { length, waitMs, hint } = this.#options
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#waiters.size >= length) return Promise.reject(modelOverloaded(hint()))
    return new Promise<Place>((resolve, reject) => {
      const leave = () => {
        this.#waiters.delete(waiter)
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const waiter: Waiter<Place> = {
        take,
        resolve: place => {
          leave()
          resolve(place)
        },
        reject: error => {
          leave()
          reject(error)
        },
      }
      const onAbort = () => waiter.reject(signal.reason)
      const timer = setTimeout(() => waiter.reject(modelOverloaded(hint())), waitMs)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiters.add(waiter)
    })
  }

  /** A slot may be free: every waiting caller tries, in order. */
  serve(): void {
    for (const waiter of [...this.#waiters]) {
      try {
        const place = waiter.take()
        if (place !== null) waiter.resolve(place)
      } catch (error) {
        waiter.reject(error)
      }
    }
  }
}
