import { inflateRawSync } from 'node:zlib'

/** What a packed document unfolds to; a book with its images stays below. */
export const unpackedBytes = 200 * 1024 * 1024

/** Files within a packed document. */
export const packedFiles = 10_000

const directoryEnd = 0x06054b50
const directoryEntry = 0x02014b50
const fileHeader = 0x04034b50
const deflated = 8

/**
 * Unfolds every file of a ZIP as far as it may go, because what its directory says of their sizes proves nothing, and the
 * libraries that read it would unfold them whole. Some of them count the files and some read the directory to its end, so
 * both have to be the same. Throws a sentence where it is too much, or none.
 */
export function checkUnpacked(zip: Buffer): void {
  const { start, end, count } = directoryOf(zip)
  let at = start
  let left = unpackedBytes
  for (let file = 0; file < count; file++) {
    if (zip.readUInt32LE(at) !== directoryEntry) throw new Error('Its directory is broken.')
    left -= unpackedSize(zip, at, left)
    if (left < 0) throw new Error('It unfolds to too much.')
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  if (at !== end) throw new Error('Its directory does not end where it says.')
}

/** Where the directory begins and ends, and how many files it has. One in several parts or in the 64-bit form is none. */
function directoryOf(zip: Buffer): { start: number; end: number; count: number } {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end < 0 || end + 22 > zip.length || zip.readUInt32LE(end) !== directoryEnd) throw new Error('It is no whole ZIP.')
  const count = zip.readUInt16LE(end + 10)
  const start = zip.readUInt32LE(end + 16)
  const isOnePart = zip.readUInt32LE(end + 4) === 0 && zip.readUInt16LE(end + 8) === count
  if (!isOnePart || start + zip.readUInt32LE(end + 12) !== end) throw new Error('Its directory is broken.')
  if (count > packedFiles) throw new Error('It has too many files.')
  return { start, end, count }
}

function unpackedSize(zip: Buffer, entry: number, atMost: number): number {
  const packed = zip.readUInt32LE(entry + 20)
  const header = zip.readUInt32LE(entry + 42)
  const method = zip.readUInt16LE(entry + 10)
  // One library goes by what stands before the file, another by what the directory says of it.
  if (zip.readUInt32LE(header) !== fileHeader || zip.readUInt16LE(header + 8) !== method)
    throw new Error('Its directory says another thing than its files.')
  const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28)
  if (method !== deflated) return packed
  return inflateRawSync(zip.subarray(start, start + packed), { maxOutputLength: Math.max(1, atMost) }).length
}
