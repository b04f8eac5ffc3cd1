import type { SniffedType } from '#contract/wire/media-type.ts'
import { ClientError } from '../client-error.ts'
import { wireFailure } from '../wire/undici-wire.ts'
import { appendTo, dropPart, finishPart, typeOfFile } from './part-file.ts'

export interface SavedPieces {
  path: string
  mimeType: SniffedType
  bytes: number
}

export interface SavePieces {
  /** Thrown away where it does not become the file. */
  partPath: string
  maximumBytes: number
  /** Where a file of this type, by its first bytes, gets its name; null for a type that is not wanted. */
  pathOf(mimeType: SniffedType): string | null
}

/** A file whose type its bytes say, named when it is whole and synced; an existing file is never replaced. */
export async function savePieces(
  pieces: AsyncIterable<Uint8Array>,
  { partPath, maximumBytes, pathOf }: SavePieces,
): Promise<SavedPieces> {
  try {
    const bytes = await appendTo(partPath, failingAsOurs(pieces), { from: 0, maximumBytes })
    const mimeType = await typeOfFile(partPath)
    const path = mimeType && pathOf(mimeType)
    if (!path)
      throw new ClientError('unreadable', 'What came is no file of a type that was asked for.', { wasSent: true })
    await finishPart(partPath, path)
    return { path, mimeType, bytes }
  } catch (error) {
    await dropPart(partPath)
    throw error
  }
}

/** What breaks off on its way is told as the client's own failure. */
export async function* failingAsOurs(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw error instanceof ClientError || (error instanceof Error && error.name === 'AbortError')
      ? error
      : wireFailure(error)
  }
}
