import type { Selectable } from 'kysely'
import type { Clock } from '#contract/clock.ts'
import { addUsd, microUsd, zeroUsd } from '#contract/money.ts'
import { readOwed } from '../store/owed.ts'
import type { Store } from '../store/store.ts'
import type { HoldTable } from '../store/tables.ts'
import type { Op, Outcome } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { recoverySlice } from './bounds.ts'
import { isClockShared } from './clock-watch.ts'

/**
 * Ends holds whose process died: what their last checkpoint says is charged, and a hold without one is freed. A live lease
 * is never touched, so a sibling's work is safe; nor is any while this clock is no judge of it. Returns how many it ended.
 */
export async function recoverHolds(store: Store, clock: Clock, isOpenHere: IsOpenHere = () => false): Promise<number> {
  if (!(await isClockShared(store))) return 0
  return endHolds(store, clock, {
    async find(atMs) {
      const lapsed = await holds(store).where('lease_until_ms', '<', atMs).execute()
      return lapsed.filter(({ id }) => !isOpenHere(id))
    },
    guard: atMs => ({ onlyIfExpired: { atMs } }),
  })
}

/** Once, at a start, and before `owner` serves: where nobody else writes, no lease of somebody else is waited for. */
export const recoverHoldsAtStart = (store: Store, clock: Clock, owner: string): Promise<number> =>
  store.soleOwner
    ? endHolds(store, clock, {
        find: () => holds(store).where('lease_owner', '!=', owner).execute(),
        guard: () => ({}),
      })
    : recoverHolds(store, clock)

const holds = (store: Store) => store.read.selectFrom('hold').select(['id', 'amount', 'owed']).limit(recoverySlice)

/** Whether this process works under it: after a sleep, or a jump of the clock, its own leases have lapsed as well. */
type IsOpenHere = (hold: string) => boolean

type DeadHold = Pick<Selectable<HoldTable>, 'id' | 'amount' | 'owed'>

type Guard = { onlyIfExpired?: { atMs: number } }

interface DeadHolds {
  find(atMs: number): Promise<DeadHold[]>
  guard(atMs: number): Guard
}

async function endHolds(store: Store, clock: Clock, { find, guard }: DeadHolds): Promise<number> {
  let ended = 0
  for (;;) {
    const atMs = clock.now()
    const dead = await find(atMs)
    if (!dead.length) return ended
    const count = await endSlice(store, dead, atMs, guard(atMs))
    ended += count
    // Whatever refused is alive again or gone; asking once more at once would only spin.
    if (count === 0) return ended
  }
}

async function endSlice(store: Store, dead: readonly DeadHold[], atMs: number, guard: Guard): Promise<number> {
  const outcomes = await commitEach(
    store,
    dead.map(hold => endingOf(hold, atMs, guard)),
    atMs,
  )
  // Its request was charged under another hold, so this one owes nothing.
  const charged = dead.filter((_, index) => whyOf(outcomes[index]) === 'request_charged')
  const freed = await commitEach(
    store,
    charged.map(({ id }) => ({ op: 'release', hold: id, ...guard })),
    atMs,
  )
  return [...outcomes, ...freed].filter(outcome => outcome.ok).length
}

function endingOf({ id, amount, owed }: DeadHold, atMs: number, guard: Guard): Op {
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
