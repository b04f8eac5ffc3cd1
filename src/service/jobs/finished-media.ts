import { createHmac, timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import type { Clock } from '#contract/time.ts'
import type { Store } from '#ledger/store/store.ts'
import type { JobState } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { MediaStore } from '#media/media-store.ts'
import { expirySliceJobs, expirySlices, type JobRow, mediaNames, mediaRetentionMs, noFile, sweptJobs } from './jobs.ts'

/**
 * Marks the row first, so that no caller gets a file that is about to vanish; then deletes the file; then records that
 * in the row. A crash in between leaves a deleted row without that record, which the cleanup finds.
 */
export async function deleteMedia(
  { id, state, fence, result }: Pick<JobRow, 'id' | 'state' | 'fence' | 'result'>,
  { store, media, clock }: { store: Store; media: Pick<MediaStore, 'delete'>; clock: Clock },
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
 * Deletes expired media, and files whose deletion was started but not finished. Returns how many. A failure does not
 * stop other deletions; the first one is thrown at the end.
 */
export async function expireMedia(store: Store, media: Pick<MediaStore, 'delete'>, clock: Clock): Promise<number> {
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

/**
 * Returns jobs with files that may be deleted, after the given id. Continuing after the last one skips files that could
 * not be deleted.
 */
function dueAfter(after: string, store: Store, nowMs: number): Promise<Due[]> {
  return (
    store.read
      .selectFrom('job')
      .select(['id', 'state', 'fence', 'result'])
      .where('id', '>', after)
      // Written literally, because only then is the small index of jobs with a file used.
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

/** Deletes files that crashes left in the media store. Returns their number. */
export const sweepMedia = (store: Store, media: MediaStore): Promise<number> =>
  media.sweep(async jobIds => {
    const states = new Map<string, JobState>()
    for (let start = 0; start < jobIds.length; start += sweptJobs) {
      const rows = await store.read
        .selectFrom('job')
        .select(['id', 'state'])
        .where('id', 'in', jobIds.slice(start, start + sweptJobs))
        .execute()
      for (const { id, state } of rows) states.set(id, state)
    }
    return states
  })

/** What a download address is signed for. */
interface DownloadGrant {
  jobId: string
  expiresAtMs: number
}

/** Signs download addresses. The first secret signs; the others are accepted while a secret is being replaced. */
export class DownloadLinks {
  readonly #publicUrl: string
  readonly #secrets: readonly string[]

  constructor(publicUrl: string, secrets: readonly string[]) {
    this.#publicUrl = publicUrl
    this.#secrets = secrets
  }

  url(grant: DownloadGrant): string {
    const [secret = ''] = this.#secrets
    const query = new URLSearchParams({
      expires: grant.expiresAtMs.toString(),
      signature: signature(grant, secret),
    })
    return `${this.#publicUrl}/downloads/${grant.jobId}?${query}`
  }

  /** Returns false for any other job, time or signature. Does not check its expiry. */
  isSigned(grant: DownloadGrant, given: string): boolean {
    return this.#secrets.some(secret => sameText(signature(grant, secret), given))
  }
}

const signature = ({ jobId, expiresAtMs }: DownloadGrant, secret: string): string =>
  createHmac('sha256', secret).update(`download\n${jobId}\n${expiresAtMs}`).digest('base64url')

function sameText(expected: string, given: string): boolean {
  const left = Buffer.from(expected)
  const right = Buffer.from(given)
  return left.length === right.length && timingSafeEqual(left, right)
}
