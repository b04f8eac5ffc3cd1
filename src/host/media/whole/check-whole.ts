import { Unreadable } from '../file-faults.ts'
import { checkAdts, checkMp3, checkOgg, checkWav } from './whole-audio.ts'
import { checkFlac } from './whole-flac.ts'
import { checkMp4 } from './whole-mp4.ts'

/** What a file claims in its header, its tables or its frame headers, before anything is decoded. */
export interface Claims {
  /** Null if the file does not say. */
  seconds: number | null
  /** Samples of one channel; null if the file does not give them. */
  samples: number | null
  /** Packets over all tracks that a reader would go through; 0 for formats without packets. */
  packets: number
}

type Length = Pick<Claims, 'seconds' | 'samples'>
const unsaid: Length = { seconds: null, samples: null }

const lengths = (check: (bytes: Buffer) => Length) => (bytes: Buffer) => ({ ...check(bytes), packets: 0 })
const seconds = (check: (bytes: Buffer) => number | null) =>
  lengths(bytes => ({ seconds: check(bytes), samples: null }))
const tables = (check: (bytes: Buffer) => number) => (bytes: Buffer) => ({ ...unsaid, packets: check(bytes) })

const checks = {
  ...{ mp4: tables(checkMp4), mov: tables(checkMp4), webm: tables(checkWebm) },
  ...{ wav: lengths(checkWav), flac: lengths(checkFlac), mp3: seconds(checkMp3), aac: seconds(checkAdts) },
  ogg: seconds(checkOgg),
}

export type CheckedFormat = keyof typeof checks

/**
 * Checks the structure, because decoders silently play as much of a file as there is. Throws `Unreadable`, also if the
 * check itself fails: no writer of the format makes such a file.
 */
export function checkWhole(bytes: Buffer, format: CheckedFormat): Claims {
  try {
    return checks[format](bytes)
  } catch (error) {
    throw error instanceof Unreadable ? error : new Unreadable(`its structure is broken: ${error}`)
  }
}

const cutOff = (why: string) => new Unreadable(`cut off: ${why}`)

const segmentId = 0x18538067
const clusterId = 0x1f43b675
const groupId = 0xa0
const blockIds = new Set([0xa1, 0xa3])

/**
 * Matroska and WebM: every element must have its stated length. A live recording has a segment of unknown size, which
 * hides how long it was: it is accepted if its last element is complete. Returns the number of packets. Throws
 * `Unreadable`.
 */
function checkWebm(bytes: Buffer): number {
  let packets = 0
  for (let at = 0; at < bytes.length; ) {
    const id = idAt(bytes, at)
    const size = id && sizeAt(bytes, at + id.length)
    if (!id || !size) throw cutOff('the last element is incomplete')
    const start = at + id.length + size.length
    if (size.value !== null && start + size.value > bytes.length) throw cutOff(`an element has ${size.value} bytes`)
    const mayBeUnknown = id.value === segmentId || id.value === clusterId
    if (size.value === null && !mayBeUnknown) throw cutOff('an element of unknown size')
    if (blockIds.has(id.value)) packets += framesOf(bytes, start)
    // Containers are entered: their elements are read as if they were at the top level.
    const isEntered = mayBeUnknown || id.value === groupId
    at = isEntered ? start : start + (size.value ?? 0)
  }
  return packets
}

/** A block has one frame, or as many as its lacing says. */
function framesOf(bytes: Buffer, start: number): number {
  const track = sizeAt(bytes, start)
  const flagsAt = start + (track?.length ?? 1) + 2
  return ((bytes[flagsAt] ?? 0) & 0x06) === 0 ? 1 : (bytes[flagsAt + 1] ?? 0) + 1
}

function idAt(bytes: Buffer, at: number): { value: number; length: number } | null {
  const length = Math.clz32((bytes[at] ?? 0) << 24) + 1
  return length > 4 || at + length > bytes.length ? null : { value: bytes.readUIntBE(at, length), length }
}

/** The value is null if the size is unknown. */
function sizeAt(bytes: Buffer, at: number): { value: number | null; length: number } | null {
  const head = bytes[at] ?? 0
  const length = Math.clz32(head << 24) + 1
  if (length > 8 || at + length > bytes.length) return null
  let value = head & (0xff >> length)
  let isUnknown = value === 0xff >> length
  for (let place = 1; place < length; place++) {
    const next = bytes[at + place] ?? 0
    value = value * 256 + next
    isUnknown &&= next === 0xff
  }
  return { value: isUnknown ? null : value, length }
}
