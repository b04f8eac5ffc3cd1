import type { Clock } from '#contract/clock.ts'
import type { Store } from '../store/store.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { recoverySlice } from './bounds.ts'

/** Frees holds whose process died. A live lease is never touched, so a sibling's work is safe. Returns how many it freed. */
export const recoverHolds = (store: Store, clock: Clock): Promise<number> =>
  freeHolds(store, clock, {
    find: atMs => holds(store).where('lease_until_ms', '<', atMs).execute(),
    guard: atMs => ({ onlyIfExpired: { atMs } }),
  })

/** Once, at a start, and before `owner` serves: where nobody else writes, no lease of somebody else is waited for. */
export const recoverHoldsAtStart = (store: Store, clock: Clock, owner: string): Promise<number> =>
  store.soleOwner
    ? freeHolds(store, clock, {
        find: () => holds(store).where('lease_owner', '!=', owner).execute(),
        guard: () => ({}),
      })
    : recoverHolds(store, clock)

const holds = (store: Store) => store.read.selectFrom('hold').select('id').limit(recoverySlice)

interface DeadHolds {
  find(atMs: number): Promise<{ id: string }[]>
  guard(atMs: number): { onlyIfExpired?: { atMs: number } }
}

async function freeHolds(store: Store, clock: Clock, { find, guard }: DeadHolds): Promise<number> {
  let freed = 0
  for (;;) {
    const atMs = clock.now()
    const dead = await find(atMs)
    if (!dead.length) return freed
    const outcomes = await store.commit(
      dead.map(hold => ({
        id: `${uuidV7(atMs)}/recover`,
        ops: [{ op: 'release', hold: hold.id, ...guard(atMs) }],
      })),
    )
    const released = outcomes.filter(outcome => outcome.ok).length
    freed += released
    // Whatever refused is alive again or gone; asking once more at once would only spin.
    if (released === 0) return freed
  }
}
