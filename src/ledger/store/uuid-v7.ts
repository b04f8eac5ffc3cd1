import { randomFillSync } from 'node:crypto'

/** Random bytes are generated for this many ids at once, because generating them costs more than an id. */
const poolIds = 128
const randomBytesPerId = 10

const pool = Buffer.alloc(poolIds * randomBytesPerId)
let poolOffset = pool.length
let lastMs = 0
let counter = 0

/**
 * Returns an id ordered by time (RFC 9562, method 1: a 12-bit counter after the milliseconds). Ids of one process
 * strictly increase, even if the clock steps back or a millisecond's counter overflows.
 */
export function uuidV7(nowMs: number): string {
  if (poolOffset === pool.length) {
    randomFillSync(pool)
    poolOffset = 0
  }
  const random = pool.subarray(poolOffset, poolOffset + randomBytesPerId)
  poolOffset += randomBytesPerId
  if (nowMs > lastMs) {
    lastMs = nowMs
    // Half of the counter is left free, so that a burst stays within its millisecond.
    counter = random.readUInt16BE(8) & 0x7ff
  } else if (counter < 0xfff) {
    counter++
  } else {
    lastMs++
    counter = 0
  }
  const variant = (0x8000 | (random.readUInt16BE(0) & 0x3fff)).toString(16)
  return `${timePart(lastMs)}-7${hex(counter, 3)}-${variant}-${random.toString('hex', 2, 8)}`
}

/** Forgets earlier ids, as a new process does; for tests that simulate several processes in one. */
export function restartUuidV7(): void {
  poolOffset = pool.length
  lastMs = 0
  counter = 0
}

/** Returns the smallest id that a UUIDv7 of this millisecond or later can have; for pruning by id. */
export const uuidV7Floor = (atMs: number): string => `${timePart(atMs)}-7000-8000-000000000000`

/** Whether a text starts with a UUIDv7 in lower case. */
export const startsWithUuidV7 = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/.test(text)

function timePart(atMs: number): string {
  const digits = hex(atMs, 12)
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')
