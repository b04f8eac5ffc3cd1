import type { Clock } from '#contract/clock.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { Store } from '../store/store.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { mediaRetentionMs } from './bounds.ts'
import { mediaName } from './job-row.ts'

/** Jobs looked at in one pass. */
const slice = 100

/** Deletes media that nobody may fetch any more. The row says so first: a file without a row is found again by its name. */
export async function expireMedia(store: Store, media: MediaStore, clock: Clock): Promise<number> {
  const atMs = clock.now()
  const old = await store.read
    .selectFrom('job')
    .select(['id', 'fence'])
    .where('state', '=', 'completed')
    .where('updated_at_ms', '<', atMs - mediaRetentionMs)
    .limit(slice)
    .execute()
  const outcomes = await store.commit(
    old.map(({ id, fence }) => ({
      id: `${uuidV7(atMs)}/expire`,
      ops: [{ op: 'job', job: id, from: 'completed', to: 'deleted', fence, set: {}, atMs }],
    })),
  )
  const deleted = old.filter((_, index) => outcomes[index]?.ok)
  for (const job of deleted) await media.delete(mediaName(job.id))
  return deleted.length
}
