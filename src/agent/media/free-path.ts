import { existsSync } from 'node:fs'
import type { SniffedType } from '#contract/wire/media-type.ts'
import { inFolder, outputName } from './file-name.ts'

/** What a file is named for: when and by which model it was made, and the job or call. */
export interface MadeBy {
  startedAtMs: number
  model: string
  id: string
}

/**
 * A name of ours that no file has yet, for the next of those that were made together. A file that a crash left without its
 * row keeps its name, too.
 */
export function freePath(folder: string, { startedAtMs, model, id }: MadeBy, mimeType: SniffedType): string {
  for (let count = 1; count <= mostNames; count++) {
    const extension = extensions[mimeType]
    const ending = count === 1 ? extension : `${count}.${extension}`
    const path = inFolder(folder, outputName(startedAtMs, model, id, ending))
    if (!existsSync(path)) return path
  }
  throw new Error('Every name for this file is taken.')
}

/** Files of one call, and crashes between a file and its row. */
const mostNames = 20

const extensions: Readonly<Record<SniffedType, string>> = {
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/aac': 'aac',
  'audio/mp4': 'm4a',
}
