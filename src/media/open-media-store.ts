import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import { commitSurely, type Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { MediaOptions } from './media-options.ts'
import { FolderMediaStore, type MediaStore, MediaUnusable, markName } from './media-store.ts'

interface Around {
  /** The default folder of media. For a bucket, it contains the notes of uploads. */
  folder: string
  store: Store
  clock: Clock
  log: Log
  /** Whether the service sells jobs that create files. */
  isNeeded: boolean
}

/** Throws `MediaUnusable` if the place cannot be used, or differs from that of the other processes. */
export async function openMediaStore(options: MediaOptions | undefined, around: Around): Promise<MediaStore> {
  const media = await make(options, around)
  if (options) await media.check()
  if (around.isNeeded) await requireSamePlace(media, around.store, around.clock.now())
  return media
}

async function make(options: MediaOptions | undefined, { folder, clock, log }: Around): Promise<MediaStore> {
  if (!options) return new FolderMediaStore(resolve(folder))
  if ('folder' in options) return new FolderMediaStore(resolve(options.folder))
  const { BucketMediaStore } = await import('./bucket-media-store.ts')
  return new BucketMediaStore(options.s3, { notes: folder, clock, log })
}

/**
 * A row that only the first process on a database writes. The row that contains the mark is written in the same unit.
 */
const firstKey = 'media-place'

/** Never expires, because expired nonces are deleted. */
const neverMs = Date.parse('9999-12-31T00:00:00Z')

/**
 * Processes that share a database deliver each other's media, so they must use the same place. The first one writes a
 * mark there and in the database; the others compare the two.
 */
async function requireSamePlace(media: MediaStore, store: Store, atMs: number): Promise<void> {
  if (store.soleOwner) return
  const known = (await knownMark(store)) ?? (await markFirst(media, store, atMs))
  if (known === null || (await media.isMarked(known))) return
  throw new MediaUnusable(
    `The other processes on this database keep finished media in another place: ${media.place} has no file ${markName(known)}.`,
    `Set \`media.folder\` or \`media.s3\` to the same place in every process. If you moved the media, create an empty file of that name in the new place.`,
  )
}

/** Null once this place has the first mark; otherwise the mark of the process that was faster. */
async function markFirst(media: MediaStore, store: Store, atMs: number): Promise<string | null> {
  const mark = randomUUID()
  // Written before its row: a crash in between leaves an empty file, and no mark without a place.
  await media.mark(mark)
  const nonces = [firstKey, `${firstKey}:${mark}`].map(key => ({ op: 'nonce' as const, key, expiresAtMs: neverMs }))
  const outcome = await commitSurely(store, { id: `${uuidV7(atMs)}/media`, ops: nonces })
  if (outcome.ok) return null
  await media.unmark(mark)
  return knownMark(store)
}

async function knownMark({ read }: Pick<Store, 'read'>): Promise<string | null> {
  const row = await read.selectFrom('nonce').select('id').where('id', 'like', `${firstKey}:%`).executeTakeFirst()
  return row?.id.slice(firstKey.length + 1) ?? null
}
