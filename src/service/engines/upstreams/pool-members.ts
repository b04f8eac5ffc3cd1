import type { Clock } from '#contract/clock.ts'
import { modelOffline, modelOverloaded } from '#contract/errors.ts'
import { longestHintMs, newestShare, usualCallMs } from './bounds.ts'
import type { Upstream, UpstreamNews, UpstreamState } from './upstream.ts'
import { UpstreamCounts } from './upstream-counts.ts'
import { UpstreamHealth } from './upstream-health.ts'

export interface Member<Engine> extends Upstream<Engine> {
  health: UpstreamHealth
  running: number
  counts: UpstreamCounts
  /** Of the smooth round by weights: grows by the weight, falls by all weights when chosen. */
  turn: number
}

/** Who asks, and whom it has asked already. */
export interface Asker<Engine> {
  tried: ReadonlySet<Member<Engine>>
  /** The account that asks; null outside of a request. */
  caller: string | null
}

/** The upstreams of a pool: whose turn it is, how each of them is, and when one will be free. */
export class PoolMembers<Engine> {
  readonly all: readonly Member<Engine>[]
  readonly #clock: Clock
  readonly #news: UpstreamNews | null
  #callMs = usualCallMs

  constructor(upstreams: readonly Upstream<Engine>[], clock: Clock, news: UpstreamNews | undefined) {
    this.#clock = clock
    this.#news = news ?? null
    this.all = upstreams.map(upstream => ({
      ...upstream,
      ...{ health: new UpstreamHealth(clock), running: 0, counts: upstream.counts ?? new UpstreamCounts(), turn: 0 },
    }))
  }

  named(name: string): Member<Engine> | null {
    return this.all.find(member => member.name === name) ?? null
  }

  get states(): readonly UpstreamState[] {
    return this.all.map(({ name, health, running, counts }) => ({
      ...{ name, state: health.state, running, calls: counts.calls, failures: { ...counts.failures } },
    }))
  }

  /** A place at one that this asker has not tried; null where those that are well are full. Throws where none is. */
  take({ tried, caller }: Asker<Engine>): Member<Engine> | null {
    const open = this.all.filter(member => !tried.has(member) && member.health.isOpenTo(caller))
    if (!open.length) throw this.#noneOpen()
    const free = open.filter(({ running, concurrency }) => running < concurrency)
    const member = this.#nextOf(free.filter(({ health }) => !health.isPoorFor(caller))) ?? this.#nextOf(free)
    if (!member) return null
    member.running++
    member.counts.calls++
    member.health.begin()
    return member
  }

  isOpen({ tried, caller }: Asker<Engine>): boolean {
    return this.all.some(other => !tried.has(other) && other.health.isOpenTo(caller))
  }

  well(member: Member<Engine>): void {
    if (member.health.succeeded()) this.#news?.back(member.name)
  }

  took(startedMs: number): void {
    const tookMs = Math.max(1, this.#clock.now() - startedMs)
    this.#callMs += (tookMs - this.#callMs) * newestShare
  }

  failed(member: Member<Engine>, word: string, caller: string | null): void {
    if (member.health.failed(caller)) this.#news?.leftOut(member.name, word)
  }

  /** When a place is likely to be free: those before it, at the pace of late. */
  hint(waiting: number): Record<string, string> {
    const places = this.all.reduce((sum, { health, concurrency }) => sum + (health.isOpenTo(null) ? concurrency : 0), 0)
    return retryHeader(Math.min(longestHintMs, (this.#callMs * (waiting + 1)) / Math.max(1, places)))
  }

  /** Smooth weighted turns: with weights 3 and 1 the order is a a b a, and not a a a b. */
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
    // One that is only spared is not offline.
    return this.all.some(({ health }) => health.state === 'up') ? modelOverloaded(header) : modelOffline(header)
  }
}

const retryHeader = (waitMs: number) => ({ 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) })
