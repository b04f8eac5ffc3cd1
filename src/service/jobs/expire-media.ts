import { sql } from 'kysely'
import type { Clock } from '#contract/time.ts'
import type { Store } from '#ledger/store/store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { expirySliceJobs, expirySlices, mediaRetentionMs } from './bounds.ts'
import { deleteMedia } from './delete-media.ts'
import { type JobRow, noFile } from './job-row.ts'

type Due = Pick<JobRow, 'id' | 'state' | 'fence' | 'result'>

/**
 * Deletes media that nobody may fetch any more, and files whose deletion was begun and not ended. Returns how many. One
 * that cannot be deleted keeps no other; the first such failure is thrown at the end.
 */
export async function expireMedia(store: Store, media: MediaStore, clock: Clock): Promise<number> {
  const failures: unknown[] = []
  let deleted = 0
  let after = ''
  for (let slice = 0; slice < expirySlices; slice++) {
    const rows = await dueAfter(after, store, clock.now())
    for (const row of rows) {
      await deleteMedia(row, { store, media, clock }).then(
        () => deleted++,
        error => failures.push(error),
      )
    }
    after = rows.at(-1)?.id ?? after
    if (rows.length < expirySliceJobs) break
  }
  if (failures.length) throw failures[0]
  return deleted
}

/** Every job with a file but those whose file may still be fetched. Going on after the last one passes by what could not be deleted. */
function dueAfter(after: string, store: Store, nowMs: number): Promise<Due[]> {
  return (
    store.read
      .selectFrom('job')
      .select(['id', 'state', 'fence', 'result'])
      .where('id', '>', after)
      // Written out, because only then is the small index of jobs with a file taken.
      .where(sql<boolean>`result IS NOT NULL AND result <> ${sql.lit(noFile)}`)
      .where(where =>
        where.not(
          where.and([where('state', '=', 'completed'), where('updated_at_ms', '>=', nowMs - mediaRetentionMs)]),
        ),
      )
      .orderBy('id')
      .limit(expirySliceJobs)
      .execute()
  )
}
