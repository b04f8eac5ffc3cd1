import type { Selectable } from 'kysely'
import { addUsd, microUsd, zeroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { holdRenewalMs, lapsedAtOnce, recoveryIntervalMs, recoverySlice } from '../bounds.ts'
import { isClockShared, type Outcome, type Store } from '../store/store.ts'
import type { HoldTable } from '../store/tables.ts'
import { type Op, readOwed } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'

/**
 * Ends holds whose process died: charges the cost in their last checkpoint, and frees holds without one. A live lease
 * is never touched, so other processes' work is safe; nor is any lease while this clock cannot be trusted. Returns how
 * many it ended.
 */
export async function recoverHolds(
  store: Store,
  clock: Clock,
  { isOpenHere, isDue }: Spared = noneSpared,
): Promise<number> {
  if (!(await isClockShared(store))) return 0
  const atMs = clock.now()
  const how: How = { atMs, guard: { onlyIfExpired: { atMs } } }
  const lapsed = await lapsedHolds(store, atMs)
  const due = lapsed.filter(({ id, lease_until_ms }) => !isOpenHere(id) && isDue(id, lease_until_ms, atMs))
  let ended = 0
  for (let from = 0; from < due.length; from += recoverySlice) {
    const ids = due.slice(from, from + recoverySlice).map(({ id }) => id)
    ended += await endEach(store, await holds(store).where('id', 'in', ids).execute(), how)
  }
  return ended
}

/**
 * Runs once at the start, before `owner` serves. If no other process writes, other owners' holds end at once, so that
 * no caller is refused because a dead process holds the credit. If others may write, nothing ends yet: after an outage
 * their leases have lapsed, and they need a moment to renew them.
 */
export async function recoverHoldsAtStart(store: Store, clock: Clock, owner: string): Promise<number> {
  if (!store.soleOwner) return 0
  const how: How = { atMs: clock.now(), guard: {} }
  // A set that fails has changed nothing, and the units that follow report which hold failed and why.
  let ended = (await store.endHoldsOfOthers?.(owner, how.atMs).catch(() => 0)) ?? 0
  for (;;) {
    const count = await endEach(store, await holds(store).where('lease_owner', '!=', owner).execute(), how)
    ended += count
    // The refused holds are gone; an immediate retry would only spin.
    if (count === 0) return ended
  }
}

const holds = (store: Store) => store.read.selectFrom('hold').select(['id', 'amount', 'owed']).limit(recoverySlice)

/** Checks all of them together, so that each has the same time to be renewed. */
const lapsedHolds = (store: Store, atMs: number) =>
  store.read
    .selectFrom('hold')
    .select(['id', 'lease_until_ms'])
    .where('lease_until_ms', '<', atMs)
    .limit(lapsedAtOnce)
    .execute()

/** Which lapsed holds must stay open. */
interface Spared {
  /** Whether this process uses the hold: after a sleep or a clock jump, its own leases have lapsed too. */
  isOpenHere(hold: string): boolean
  /** Whether its owner has had enough time to renew it. */
  isDue(hold: string, leaseUntilMs: number, nowMs: number): boolean
}

const noneSpared: Spared = { isOpenHere: () => false, isDue: () => true }

type DeadHold = Pick<Selectable<HoldTable>, 'id' | 'amount' | 'owed'>

interface How {
  atMs: number
  guard: { onlyIfExpired?: { atMs: number } }
}

/** Returns how many have ended. */
async function endEach(store: Store, dead: readonly DeadHold[], how: How): Promise<number> {
  const outcomes = await commitEach(
    store,
    dead.map(hold => endingOf(hold, how)),
    how.atMs,
  )
  // Its request was charged under another hold, so this hold charges nothing.
  const charged = dead.filter((_, index) => whyOf(outcomes[index]) === 'request_charged')
  const freed = await commitEach(
    store,
    charged.map(({ id }) => ({ op: 'release', hold: id, ...how.guard })),
    how.atMs,
  )
  return [...outcomes, ...freed].filter(outcome => outcome.ok).length
}

function endingOf({ id, amount, owed }: DeadHold, { atMs, guard }: How): Op {
  const { request, model, lines } = owed === null ? noWork : readOwed(owed)
  if (!lines.length) return { op: 'release', hold: id, ...guard }
  const total = addUsd(zeroUsd, ...lines.map(line => line.amount))
  const lost = total > amount ? { writeOff: microUsd(total - amount) } : {}
  return { op: 'capture', hold: id, request, model, lines, ...lost, ...guard, atMs }
}

const noWork = { request: '', model: null, lines: [] }

const whyOf = (outcome: Outcome | undefined) => (outcome && !outcome.ok ? outcome.why : null)

const commitEach = (store: Store, ops: readonly Op[], atMs: number): Promise<Outcome[]> =>
  store.commit(ops.map(op => ({ id: `${uuidV7(atMs)}/recover`, ops: [op] })))

/** An owner that is alive and reaches the ledger renews within this time, with room for a busy moment. */
export const lapsedForMs = holdRenewalMs + recoveryIntervalMs

interface Seen {
  untilMs: number
  sinceMs: number
}

/**
 * Lapsed holds, and since when this process has seen them as lapsed. After an outage all holds have lapsed, and the
 * first process to check would end holds that others are about to renew. So a hold is ended only if it stays lapsed,
 * while the ledger answers, for longer than a renewal takes.
 */
export class LapsedHolds {
  #before = new Map<string, Seen>()
  #now = new Map<string, Seen>()
  #lookedAtMs = 0

  /** Runs one check of the ledger; the caller handles its failure. */
  async look(clock: Clock, run: () => Promise<unknown>): Promise<void> {
    await run()
    // Holds that this check did not see have been renewed or have ended.
    this.#before = this.#now
    this.#now = new Map()
    this.#lookedAtMs = clock.now()
  }

  /** Whether this hold has been lapsed long enough; a renewal in between restarts the time. */
  isDue(id: string, untilMs: number, nowMs: number): boolean {
    // A check was missed or delayed, so no process could renew in between, or the clock was set back: earlier observations
    // mean nothing.
    if (nowMs < this.#lookedAtMs || nowMs - this.#lookedAtMs > 2 * recoveryIntervalMs) {
      this.#before.clear()
      this.#now.clear()
    }
    this.#lookedAtMs = nowMs
    const seen = this.#now.get(id) ?? this.#before.get(id)
    const sinceMs = seen?.untilMs === untilMs ? seen.sinceMs : nowMs
    this.#now.set(id, { untilMs, sinceMs })
    return nowMs - sinceMs >= lapsedForMs
  }
}
