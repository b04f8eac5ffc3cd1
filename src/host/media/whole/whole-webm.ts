import { Unreadable } from '../tasks.ts'

const cutOff = (why: string) => new Unreadable(`cut off: ${why}`)

const segmentId = 0x18538067
const clusterId = 0x1f43b675
const groupId = 0xa0
const blockIds = new Set([0xa1, 0xa3])

/**
 * Matroska and WebM: every element is as long as it says. A live recording has a segment of unknown size, so that nothing
 * tells how much it had: it is taken for what it holds, as long as its last element is whole. Returns how many packets
 * there are. Throws `Unreadable`.
 */
export function checkWebm(bytes: Buffer): number {
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
    // These are entered: their elements follow one another as if they were none.
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

/** Null as its value where the size is unknown. */
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
