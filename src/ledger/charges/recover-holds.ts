import type { Selectable } from 'kysely'
import { addUsd, microUsd, zeroUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { holdRenewalMs, lapsedAtOnce, recoveryIntervalMs, recoverySlice, recoveryTogether } from '../bounds.ts'
import { isClockShared, type Outcome, type Store } from '../store/store.ts'
import type { HoldTable } from '../store/tables.ts'
import { type Op, readOwed, type Unit } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'

/**
 * Ends holds whose process died: what their last checkpoint says is charged, and a hold without one is freed. A live lease
 * is never touched, so a sibling's work is safe; nor is any while this clock is no judge of it. Returns how many it ended.
 */
export async function recoverHolds(
  store: Store,
  clock: Clock,
  { isOpenHere, isDue }: Spared = noneSpared,
): Promise<number> {
  if (!(await isClockShared(store))) return 0
  return endHolds(store, clock, {
    async find(atMs) {
      const lapsed = await lapsedHolds(store, atMs)
      const due = lapsed.filter(({ id, lease_until_ms }) => !isOpenHere(id) && isDue(id, lease_until_ms, atMs))
      const ids = due.slice(0, recoverySlice).map(({ id }) => id)
      return ids.length ? holds(store).where('id', 'in', ids).execute() : []
    },
    guard: atMs => ({ onlyIfExpired: { atMs } }),
    together: 1,
  })
}

/**
 * Once, at a start, and before `owner` serves: where nobody else writes, no lease of someone else is waited for. Where
 * others may, nothing is ended yet: after an outage theirs have lapsed, and they need a moment to renew them.
 */
export const recoverHoldsAtStart = async (store: Store, clock: Clock, owner: string): Promise<number> =>
  store.soleOwner
    ? endHolds(store, clock, {
        find: () => holds(store).where('lease_owner', '!=', owner).execute(),
        guard: () => ({}),
        together: recoveryTogether,
      })
    : 0

const holds = (store: Store) => store.read.selectFrom('hold').select(['id', 'amount', 'owed']).limit(recoverySlice)

/** All of them are looked at together, so that each has its time to be renewed at once with the others. */
const lapsedHolds = (store: Store, atMs: number) =>
  store.read
    .selectFrom('hold')
    .select(['id', 'lease_until_ms'])
    .where('lease_until_ms', '<', atMs)
    .limit(lapsedAtOnce)
    .execute()

/** Which lapsed holds are left alone. */
interface Spared {
  /** Whether this process works under it: after a sleep, or a jump of the clock, its own leases have lapsed as well. */
  isOpenHere(hold: string): boolean
  /** Whether its owner has had the time to renew it. */
  isDue(hold: string, leaseUntilMs: number, nowMs: number): boolean
}

const noneSpared: Spared = { isOpenHere: () => false, isDue: () => true }

type DeadHold = Pick<Selectable<HoldTable>, 'id' | 'amount' | 'owed'>

type Guard = { onlyIfExpired?: { atMs: number } }

interface DeadHolds {
  find(atMs: number): Promise<DeadHold[]>
  guard(atMs: number): Guard
  /** How many of them one unit ends. */
  together: number
}

async function endHolds(store: Store, clock: Clock, { find, guard, together }: DeadHolds): Promise<number> {
  let ended = 0
  for (;;) {
    const atMs = clock.now()
    const dead = await find(atMs)
    if (!dead.length) return ended
    const how = { atMs, guard: guard(atMs) }
    const alone = together > 1 ? await endTogether(store, dead, how, together) : dead
    const count = dead.length - alone.length + (await endAlone(store, alone, how))
    ended += count
    // Whatever refused is alive again or gone; asking once more at once would only spin.
    if (count === 0) return ended
  }
}

interface How {
  atMs: number
  guard: Guard
}

/**
 * Ends many by one unit, which takes two thirds of the time where the books are in this process. Answers those whose
 * unit was refused: one whose request was charged under another hold keeps the others of its unit from ending.
 */
async function endTogether(store: Store, dead: readonly DeadHold[], how: How, together: number): Promise<DeadHold[]> {
  const parts: DeadHold[][] = []
  for (let from = 0; from < dead.length; from += together) parts.push(dead.slice(from, from + together))
  const units = parts.map(part => {
    const endings = part.map(hold => endingOf(hold, how))
    return unitOf(endings, how.atMs)
  })
  const outcomes = await store.commit(units)
  return parts.filter((_, index) => !outcomes[index]?.ok).flat()
}

/** Answers how many have ended. */
async function endAlone(store: Store, dead: readonly DeadHold[], how: How): Promise<number> {
  const outcomes = await commitEach(
    store,
    dead.map(hold => endingOf(hold, how)),
    how.atMs,
  )
  // Its request was charged under another hold, so this one owes nothing.
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
  store.commit(ops.map(op => unitOf([op], atMs)))

const unitOf = (ops: readonly Op[], atMs: number): Unit => ({ id: `${uuidV7(atMs)}/recover`, ops })

/** Its owner lives and reaches the books where it does not come by a renewal in this time, and with room for a busy moment. */
export const lapsedForMs = holdRenewalMs + recoveryIntervalMs

interface Seen {
  untilMs: number
  sinceMs: number
}

/**
 * Lapsed holds, and since when this process has seen them so. Where the books were away, those of everyone have lapsed
 * once they are back, and the first process to look would end holds that others are about to renew; so a hold is ended
 * only where it stays lapsed for longer than a renewal takes while the books answer.
 */
export class LapsedHolds {
  #before = new Map<string, Seen>()
  #now = new Map<string, Seen>()
  #lookedAtMs = 0

  /** One look at the books, whose failure is the caller's. */
  async look(clock: Clock, run: () => Promise<unknown>): Promise<void> {
    await run()
    // Those that this look did not meet have been renewed or ended.
    this.#before = this.#now
    this.#now = new Map()
    this.#lookedAtMs = clock.now()
  }

  /** Whether this one has been lapsed for long enough; a renewal since then begins it again. */
  isDue(id: string, untilMs: number, nowMs: number): boolean {
    // A look was missed or kept waiting, so nobody could renew meanwhile, and what was seen before says nothing.
    if (nowMs - this.#lookedAtMs > 2 * recoveryIntervalMs) {
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
