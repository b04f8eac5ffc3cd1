import type { Outcome } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import type { InterestingState } from './sometimes.ts'
import { statesOf, statesOfOutcome } from './state-watch.ts'
import type { StoreFault } from './store-faults.ts'
import { UnitRules } from './unit-rules.ts'
import type { Machine } from './virtual-machine.ts'
import type { World } from './world.ts'

/** Sees every unit that was judged: keeps what later checks compare with, and notes the states that it was in. */
export class UnitWatch {
  /** Units that were applied so far. */
  applied = 0
  /** By job, when it was requested, by the clock of the process that accepted it. */
  readonly queuedAtMs = new Map<string, number>()
  /** By claim: the hold of the attempt whose answer was kept. */
  readonly answeredBy = new Map<string, string>()
  readonly #world: World
  readonly #rules: UnitRules
  readonly #claimOwners = new Map<string, string>()
  /** By account: each posted balance that it has had, and since when. */
  readonly #posted = new Map<string, { sinceMs: number; posted: bigint }[]>()

  constructor(world: World) {
    this.#world = world
    this.#rules = new UnitRules(world)
  }

  /** A commit is made to fail, so the outcome of these units is unknown. */
  onFault(what: StoreFault, units: readonly Unit[]): void {
    const { book, trace, sometimes } = this.#world
    sometimes.reached(stateOfFault[what])
    for (const { id, ops } of units) {
      book.excused.add(requestOf(id))
      for (const op of ops) for (const request of requestsOf(op)) book.excused.add(request)
    }
    trace.tell(`store fails ${what}: ${units.map(({ id }) => id).join(' ')}`)
  }

  onApplied(unit: Unit, outcome: Outcome, machine: Pick<Machine, 'isAlive'>): void {
    const { trace, time, sometimes } = this.#world
    const told = outcome.ok ? (outcome.again ? 'again' : 'ok') : `${outcome.why} at ${outcome.op}`
    trace.tell(`${time.nowMs} ${unit.id} ${unit.ops.map(({ op }) => op).join('+')}: ${told}`)
    this.#rules.judge(unit, outcome, machine)
    for (const state of statesOfOutcome(unit, outcome)) sometimes.reached(state)
    if (!outcome.ok || outcome.again) return
    this.applied++
    for (const { account, posted } of outcome.balances) {
      const known = this.#posted.get(account) ?? []
      this.#posted.set(account, [...known, { sinceMs: time.nowMs, posted }])
    }
    for (const op of unit.ops) {
      for (const state of statesOf(op, unit)) sometimes.reached(state)
      this.#note(op, unit)
    }
  }

  /** The most that this account had posted at any moment since then. */
  mostPostedSince(account: string, sinceMs: number): bigint {
    const known = this.#posted.get(account) ?? []
    const before = known.findLast(each => each.sinceMs <= sinceMs)?.posted ?? 0n
    return known
      .filter(each => each.sinceMs > sinceMs)
      .reduce((most, { posted }) => (posted > most ? posted : most), before)
  }

  #note(op: Op, { id }: Unit): void {
    switch (op.op) {
      case 'job':
        if (op.from === null) this.queuedAtMs.set(op.job, op.atMs)
        break
      case 'claim':
        if (op.to === 'done') this.answeredBy.set(op.claim, requestOf(id))
        this.#noteOwner(op.claim, op.set.lease?.owner)
    }
  }

  #noteOwner(claim: string, owner: string | undefined): void {
    const before = this.#claimOwners.get(claim)
    if (!owner || owner === before) return
    this.#claimOwners.set(claim, owner)
    if (before) this.#world.sometimes.reached('a key of a dead process was taken over')
  }
}

/** Units of a request begin with its id. */
export const requestOf = (unitId: string): string => unitId.slice(0, 36)

/** Requests that an operation names beside its unit's own. */
function requestsOf(op: Op): string[] {
  if (op.op === 'capture' || op.op === 'refund') return [op.request]
  return op.op === 'renew' && op.owed ? [op.owed.request] : []
}

const stateOfFault: Readonly<Record<StoreFault, InterestingState>> = {
  before: 'a commit failed before it was written',
  after: 'a commit was written and its answer was lost',
  late: 'a commit was written when nobody expected it any more',
  full: 'the disk was full',
  read: 'a read failed',
}
