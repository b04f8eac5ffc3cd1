import { inflateRawSync } from 'node:zlib'
import { packedFiles, unpackedBytes } from './bounds.ts'

const directoryEnd = 0x06054b50
const directoryEntry = 0x02014b50
const deflated = 8

/**
 * Unfolds every file of a ZIP as far as it may go, because what its directory says of their sizes proves nothing, and the
 * libraries that read it would unfold them whole. Throws a sentence where it is too much, or none.
 */
export function checkUnpacked(zip: Buffer): void {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end < 0 || end + 22 > zip.length || zip.readUInt32LE(end) !== directoryEnd) throw new Error('It is no whole ZIP.')
  const count = zip.readUInt16LE(end + 10)
  if (count > packedFiles) throw new Error('It has too many files.')
  let at = zip.readUInt32LE(end + 16)
  let left = unpackedBytes
  for (let file = 0; file < count; file++) {
    if (zip.readUInt32LE(at) !== directoryEntry) throw new Error('Its directory is broken.')
    left -= unpackedSize(zip, at, left)
    if (left < 0) throw new Error('It unfolds to too much.')
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
}

function unpackedSize(zip: Buffer, entry: number, atMost: number): number {
  const packed = zip.readUInt32LE(entry + 20)
  const header = zip.readUInt32LE(entry + 42)
  const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28)
  if (zip.readUInt16LE(entry + 10) !== deflated) return packed
  return inflateRawSync(zip.subarray(start, start + packed), { maxOutputLength: Math.max(1, atMost) }).length
}
