import { batchCharacters, batchUnits } from './bounds.ts'
import type { Unit } from './units.ts'

/** How many of these units, from the first on, go into one commit: by their number, and by the text that they carry. */
export function nextBatch(waiting: readonly { unit: Unit }[]): number {
  let characters = 0
  const end = waiting.findIndex(({ unit }, index) => {
    characters += charactersOf(unit)
    return index >= batchUnits || (index > 0 && characters > batchCharacters)
  })
  return end === -1 ? waiting.length : end
}

/** Only these carry texts without the small bound of names. */
function charactersOf({ ops }: Unit): number {
  let characters = 0
  // Nobody has looked yet whether a unit is what its type says, and the queue must not stop at one that is not.
  if (!Array.isArray(ops)) return characters
  for (const op of ops) {
    if (op?.op !== 'job' && op?.op !== 'payment' && op?.op !== 'claim') continue
    for (const value of Object.values(op.set ?? {})) if (typeof value === 'string') characters += value.length
  }
  return characters
}
