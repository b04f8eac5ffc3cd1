import type { Clock } from '#contract/time.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { freedJobs } from './bounds.ts'

/**
 * Once, at a start: where nobody else writes, jobs that another owner still has a lease on are free at once. A fence keeps
 * the move from a job that is not as it was read.
 */
export async function freeDeadJobs({ store, clock, owner }: { store: Store; clock: Clock; owner: string }) {
  while (store.soleOwner) {
    const dead = await store.read
      .selectFrom('job')
      .select(['id', 'state', 'fence'])
      .where('state', 'in', ['queued', 'running'])
      .where('lease_owner', '!=', owner)
      .limit(freedJobs)
      .execute()
    const atMs = clock.now()
    const outcomes = await store.commit(
      dead.map(({ id, state, fence }) => ({
        id: `${uuidV7(atMs)}/free`,
        ops: [{ op: 'job', job: id, from: state, to: state, fence, set: { lease: null }, atMs }],
      })),
    )
    if (!outcomes.some(outcome => outcome.ok)) return
  }
}
