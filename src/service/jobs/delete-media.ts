import { sql } from 'kysely'
import type { Clock } from '#contract/time.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { expirySliceJobs, expirySlices, mediaRetentionMs } from './bounds.ts'
import { type JobRow, mediaNames, noFile } from './jobs.ts'
import type { MediaStore } from './media-store.ts'

/**
 * Marks the row first, so that no caller gets a file that goes away; then deletes the file; then notes it in the row. A
 * crash in between leaves a deleted row without that note, which the sweep finds.
 */
export async function deleteMedia(
  { id, state, fence, result }: Pick<JobRow, 'id' | 'state' | 'fence' | 'result'>,
  { store, media, clock }: { store: Store; media: MediaStore; clock: Clock },
): Promise<void> {
  let seen = fence
  if (state === 'completed') {
    if (!(await moved(store, clock, { job: id, from: 'completed', fence: seen, set: { input: null } }))) return
    seen++
  }
  if (result === noFile) return
  for (const { name } of mediaNames(id)) await media.delete(name)
  await moved(store, clock, { job: id, from: 'deleted', fence: seen, set: { result: noFile } })
}

async function moved(
  store: Store,
  clock: Clock,
  move: { job: string; from: 'completed' | 'deleted'; fence: number; set: { input?: null; result?: string } },
): Promise<boolean> {
  const atMs = clock.now()
  const [outcome] = await store.commit([
    { id: `${uuidV7(atMs)}/delete`, ops: [{ op: 'job', to: 'deleted', atMs, ...move }] },
  ])
  return outcome?.ok ?? false
}

type Due = Pick<JobRow, 'id' | 'state' | 'fence' | 'result'>

/**
 * Deletes expired media, and files whose deletion was begun and not ended. Returns how many. A failure stops no other
 * deletion; the first one is thrown at the end.
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
