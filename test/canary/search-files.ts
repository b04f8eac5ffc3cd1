import { closeSync, type Dirent, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { PieceSearch } from './search.ts'

const piece = Buffer.allocUnsafe(1024 * 1024)

/** Where a secret may be: in the file in which the user passes it, and in its own file beside the ledger or a backup. */
const ownPlaces: Readonly<Record<string, RegExp>> = {
  'the passphrase': /^passphrase/,
  'the secret of the service': /^secret$|\.secret$/,
}

/** Sentences on the files below a folder that hold a canary. What is gone meanwhile held nothing that stays. */
export function canariesBelow(folder: string): string[] {
  let entries: Dirent[]
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
  return entries.flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return canariesBelow(path)
    const found = entry.isFile() ? canaryInFile(path) : null
    return found === null || ownPlaces[found]?.test(entry.name) ? [] : [`The file ${path} holds ${found}.`]
  })
}

function canaryInFile(path: string): string | null {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return null
  }
  try {
    const search = new PieceSearch()
    for (let length = 1; length > 0; ) {
      length = readSync(file, piece)
      const found = search.next(piece.subarray(0, length))
      if (found !== null) return found
    }
    return null
  } finally {
    closeSync(file)
  }
}
