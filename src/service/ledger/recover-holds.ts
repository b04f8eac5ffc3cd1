import type { Clock } from '#contract/clock.ts'
import type { Store } from '../store/store.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { recoverySlice } from './bounds.ts'

/** Frees holds whose process died. A live lease is never touched, so a sibling's work is safe. Returns how many it freed. */
export async function recoverHolds(store: Store, clock: Clock): Promise<number> {
  let freed = 0
  for (;;) {
    const atMs = clock.now()
    const lapsed = await store.read
      .selectFrom('hold')
      .select('id')
      .where('lease_until_ms', '<', atMs)
      .limit(recoverySlice)
      .execute()
    if (!lapsed.length) return freed
    const outcomes = await store.commit(
      lapsed.map(hold => ({
        id: `${uuidV7(atMs)}/recover`,
        ops: [{ op: 'release', hold: hold.id, onlyIfExpired: { atMs } }],
      })),
    )
    const released = outcomes.filter(outcome => outcome.ok).length
    freed += released
    // Whatever refused is alive again or gone; asking once more at once would only spin.
    if (released === 0) return freed
  }
}
