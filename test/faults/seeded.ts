/** Draws that a seed and a name repeat. */
export interface Seeded {
  /** From 0 up to, and without, 1. */
  draw(): number
  /** A whole number from 0 up to, and without, `below`. */
  below(below: number): number
  /** True once in so many times. */
  once(inTimes: number): boolean
  /** One of these; undefined where there is none. */
  pick<Value>(of: readonly Value[]): Value | undefined
}

/** A generator for each name, so that what one load draws does not depend on how fast the others were (mulberry32). */
export function seeded(seed: number, name: string): Seeded {
  let state = hash(`${seed}:${name}`)
  const draw = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (most: number) => Math.floor(draw() * most)
  return { draw, below, once: times => below(times) === 0, pick: of => of[below(of.length)] }
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0
  return value
}
