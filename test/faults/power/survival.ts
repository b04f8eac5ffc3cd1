import type { Seeded } from '../seeded.ts'

/** Which unsynced changes to one file survive a power loss. */
export const survivalKinds = ['none', 'all', 'prefix', 'subset', 'torn', 'sectors'] as const
export type SurvivalKind = (typeof survivalKinds)[number]

/** Whether change number `index` reached this sector of the disk. */
export type Survives = (index: number, sector: number) => boolean

/** The unit that a disk writes whole or not at all. */
export const sectorBytes = 512

/** The sector that stands for a file's size, which lies in the folder's own part of the disk. */
export const sizeSector = -1

/** Draws what of so many changes survives. */
export function drawSurvival(kind: SurvivalKind, changes: number, seeded: Seeded): Survives {
  switch (kind) {
    case 'none':
      return () => false
    case 'all':
      return () => true
    case 'prefix': {
      const end = seeded.below(changes + 1)
      return index => index < end
    }
    case 'subset': {
      const kept = Array.from({ length: changes }, () => seeded.once(2))
      return index => kept[index] ?? false
    }
    case 'torn': {
      const last = seeded.below(changes)
      const isThere = remembered(() => seeded.once(2))
      return (index, sector) => index < last || (index === last && isThere(sector))
    }
    // Each sector went to the disk at a moment of its own, so a later write may be there and an earlier one missing.
    case 'sectors': {
      const endOf = remembered(() => seeded.below(changes + 1))
      return (index, sector) => index < endOf(sector)
    }
  }
}

function remembered<Value>(draw: () => Value): (sector: number) => Value {
  const drawn = new Map<number, Value>()
  return sector => {
    let value = drawn.get(sector)
    if (value === undefined) {
      value = draw()
      drawn.set(sector, value)
    }
    return value
  }
}
