import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { headBytes, sniffType } from '#contract/wire/media-type.ts'
import type { AskedFile } from '#wallet/terms/about-call.ts'
import { inputFileBytes } from '../bounds.ts'

/** An image in a call, for the user who decides on the call. */
export interface AskedImage {
  type: string
  bytes: Buffer
}

/**
 * Returns the image's bytes, if the file is still what the approval is about. Null if it was changed, moved or is no
 * image.
 */
export async function askedImage(
  { name, sha256 }: AskedFile,
  outputFolders: readonly string[],
): Promise<AskedImage | null> {
  if (name === null || sha256 === undefined) return null
  const paths = isAbsolute(name) ? [name] : outputFolders.map(folder => join(folder, name))
  for (const path of paths) {
    const bytes = await bytesAt(path)
    if (!bytes || createHash('sha256').update(bytes).digest('hex') !== sha256) continue
    const type = sniffType(bytes.subarray(0, headBytes))
    return type?.startsWith('image/') ? { type, bytes } : null
  }
  return null
}

/** Null if there is no file, or one that no call could have sent. */
async function bytesAt(path: string): Promise<Buffer | null> {
  // Does not follow a link that replaced the file, and does not wait for a pipe.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const file = await open(path, flags).catch(() => null)
  if (!file) return null
  try {
    const stat = await file.stat()
    return stat.isFile() && stat.size <= inputFileBytes ? await file.readFile() : null
  } catch {
    return null
  } finally {
    await file.close()
  }
}
