import { stat } from 'node:fs/promises'
import type { MediaOptions } from '#media/media-options.ts'
import { broken, type Finding, note, ok } from './finding.ts'

const check = 'media'

/** Checks whether the place of finished media can be reached. Writes nothing there; only a start does. */
export async function checkMedia(media: MediaOptions): Promise<Finding[]> {
  if ('folder' in media) return [await folderFinding(media.folder)]
  const [{ Bucket }, { lookAtBucket }, { MediaUnusable }] = await Promise.all([
    import('#media/bucket.ts'),
    import('#media/bucket-start.ts'),
    import('#media/media-store.ts'),
  ])
  const { prefix, ...options } = media.s3
  const bucket = new Bucket(options)
  try {
    await lookAtBucket(bucket, prefix)
    return [
      ok(
        check,
        `${bucket.place.replace(/^t/, 'T')} answers. At startup, the service also writes and deletes a file there.`,
      ),
    ]
  } catch (error) {
    if (!(error instanceof MediaUnusable)) throw error
    return [broken(check, error.fact, error.nextStep)]
  }
}

async function folderFinding(folder: string): Promise<Finding> {
  const found = await stat(folder).catch(() => null)
  if (!found) return note(check, `${folder} will be created at the first start.`, 'Mount it first if it is shared.')
  return found.isDirectory()
    ? ok(check, `Finished media are stored in ${folder}.`)
    : broken(check, `${folder} is not a folder.`, 'Set `media.folder` to a folder.')
}
