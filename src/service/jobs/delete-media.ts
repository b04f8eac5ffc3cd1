import type { Clock } from '#contract/time.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { MediaStore } from '../media/media-store.ts'
import { type JobRow, mediaNames, noFile } from './job-row.ts'

/**
 * The row first, so that nobody is handed a file that goes away; then the file; then the row says that it is gone. A crash
 * in between leaves a deleted row without that word, which the sweep finds.
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
