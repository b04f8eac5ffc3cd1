import { canaryParts, type Part, partBytes } from './written-forms.ts'

/** Letters count in either case: one folded byte for each. */
const folded = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte))

/** How far a window may move when its last two bytes are these: past all that no part of a canary can begin in. */
const steps = new Uint8Array(65_536).fill(partBytes - 1)
const endings = new Map<number, Part[]>()
for (const { name, bytes } of canaryParts()) {
  const part = { name, bytes: bytes.map(byte => folded[byte] as number) }
  for (let at = 1; at < partBytes; at++) {
    const pair = pairAt(part.bytes, at)
    steps[pair] = Math.min(steps[pair] as number, partBytes - 1 - at)
    if (at === partBytes - 1) endings.set(pair, [...(endings.get(pair) ?? []), part])
  }
}

/** The name of the first canary in these bytes, whole or in part; null where there is none. Looks at one byte in a few. */
export function canaryIn(bytes: Uint8Array): string | null {
  const { length } = bytes
  for (let at = partBytes - 1; at < length; ) {
    const pair = ((folded[bytes[at - 1] as number] as number) << 8) | (folded[bytes[at] as number] as number)
    const step = steps[pair] as number
    if (step > 0) at += step
    else {
      const found = partEndingAt(bytes, at, pair)
      if (found) return found.name
      at++
    }
  }
  return null
}

function pairAt(bytes: Uint8Array, at: number): number {
  return ((folded[bytes[at - 1] as number] as number) << 8) | (folded[bytes[at] as number] as number)
}

function partEndingAt(bytes: Uint8Array, at: number, pair: number): Part | undefined {
  return endings.get(pair)?.find(part => isThere(part.bytes, bytes, at - partBytes + 1))
}

const isThere = (part: Uint8Array, bytes: Uint8Array, start: number): boolean =>
  part.every((byte, at) => folded[bytes[start + at] as number] === byte)

/** The same of bytes that come in pieces. */
export class PieceSearch {
  #end: Uint8Array = new Uint8Array()

  next(piece: Uint8Array): string | null {
    const seam = Buffer.concat([this.#end, piece.subarray(0, partBytes)])
    const found = canaryIn(seam) ?? canaryIn(piece)
    this.#end = Uint8Array.from(Buffer.concat([this.#end, piece.subarray(-partBytes)]).subarray(-partBytes))
    return found
  }
}
