import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pieceBytes } from '../bounds.ts'

/** A block is one piece of the wire. */
export const blockBytes = pieceBytes

const head = Buffer.from('00000018667479706d703432', 'hex')
const filling = createHash('sha256').update('a file of no meaning').digest()

let lastNumber = -1
let lastBlock = Buffer.alloc(0)

/** The n-th block of a file that begins as an MP4 does, and in which no two blocks are equal. */
export function blockOf(number: number): Buffer {
  if (number === lastNumber) return lastBlock
  lastBlock = Buffer.alloc(blockBytes, filling)
  if (number === 0) head.copy(lastBlock)
  else lastBlock.writeUInt32BE(number, 0)
  lastNumber = number
  return lastBlock
}

/** SHA-256 of the first `totalBytes` of it. */
export function hashOfContent(totalBytes: number): string {
  const hash = createHash('sha256')
  for (let at = 0; at < totalBytes; at += blockBytes) {
    hash.update(blockOf(at / blockBytes).subarray(0, totalBytes - at))
  }
  return hash.digest('hex')
}

export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path)) hash.update(piece)
  return hash.digest('hex')
}
