import { createHmac, timingSafeEqual } from 'node:crypto'
import { copyFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Clock } from '#contract/time.ts'
import { makeFolder, syncFile, syncFolder } from '#host/files.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { expirySliceJobs, expirySlices, type JobRow, mediaNames, mediaRetentionMs, noFile } from './jobs.ts'

/** Where finished media lie. Names are ours alone; nothing of a caller ever becomes a path. */
export interface MediaStore {
  /** Takes a file over, whole or not at all. Taking the same name again replaces it. */
  take(path: string, name: string): Promise<StoredMedia>
  find(name: string): Promise<StoredMedia | null>
  /** Deleting what is not there is fine. */
  delete(name: string): Promise<void>
}

export interface StoredMedia {
  path: string
  bytes: number
}

const namePattern = /^[a-z0-9-]+\.[a-z0-9]+$/

/** Media in one folder of this machine. */
export class FolderMediaStore implements MediaStore {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async take(path: string, name: string): Promise<StoredMedia> {
    const target = this.#pathOf(name)
    await makeFolder(this.#folder)
    // Its job is told as finished, and its input deleted, once this file is here.
    await syncFile(path)
    await rename(path, target).catch(error => copyAcross(error, path, target))
    await syncFolder(this.#folder)
    return { path: target, bytes: (await stat(target)).size }
  }

  async find(name: string): Promise<StoredMedia | null> {
    const path = this.#pathOf(name)
    const found = await stat(path).catch(() => null)
    return found?.isFile() ? { path, bytes: found.size } : null
  }

  async delete(name: string): Promise<void> {
    await rm(this.#pathOf(name), { force: true })
  }

  #pathOf(name: string): string {
    if (!namePattern.test(name)) throw new Error('A stored file has a name that this service never gives.')
    return join(this.#folder, name)
  }
}

/** The engine's folder may be on another disk, where a rename is refused. */
async function copyAcross(error: unknown, path: string, target: string): Promise<void> {
  if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error
  const part = `${target}.part`
  await copyFile(path, part)
  await syncFile(part)
  await rename(part, target)
  await rm(path, { force: true })
}

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

  /** False for any other job, time or signature. Whether it has expired is for the caller's clock. */
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
