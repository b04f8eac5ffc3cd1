import type { Clock } from '#contract/clock.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { Store } from '../store/store.ts'
import { mediaRetentionMs } from './bounds.ts'
import { deleteMedia } from './delete-media.ts'
import { noFile } from './job-row.ts'

/** Jobs looked at in one pass. */
const slice = 100

/** Deletes media that nobody may fetch any more, and files whose deletion was begun and not ended. Returns how many. */
export async function expireMedia(store: Store, media: MediaStore, clock: Clock): Promise<number> {
  const rows = await store.read
    .selectFrom('job')
    .select(['id', 'state', 'fence', 'result'])
    .where(where =>
      where.or([
        where.and([where('state', '=', 'completed'), where('updated_at_ms', '<', clock.now() - mediaRetentionMs)]),
        where.and([where('state', '=', 'deleted'), where('result', 'is not', null), where('result', '!=', noFile)]),
      ]),
    )
    .limit(slice)
    .execute()
  for (const row of rows) await deleteMedia(row, { store, media, clock })
  return rows.length
}
