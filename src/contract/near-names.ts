/** A longer name is similar to none: callers may send megabytes, and comparing them would take seconds. */
const longestName = 500

/**
 * Returns the known names most similar to an unknown one, best first; only those with at least this similarity (0 to
 * 1).
 */
export function nearNames(
  wanted: string,
  names: readonly string[],
  most: number,
  leastLikeness = usualLikeness,
): string[] {
  if (wanted.length > longestName) return []
  const pairs = pairsOf(wanted)
  return names
    .map(name => ({ name, likeness: isOneSlip(wanted, name) ? 1 : likeness(pairs, pairsOf(name)) }))
    .filter(each => each.likeness >= leastLikeness)
    .sort((one, other) => other.likeness - one.likeness || (one.name < other.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name)
}

const usualLikeness = 0.35

/** Pairs of adjacent letters, which survive a moved word or a wrong letter. */
function pairsOf(name: string): Set<string> {
  const letters = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '')
  return new Set(Array.from(letters.slice(1), (letter, index) => `${letters[index]}${letter}`))
}

/** The Sørensen–Dice coefficient: the pairs that both share, relative to all pairs. */
function likeness(one: Set<string>, other: Set<string>): number {
  const shared = [...one].filter(pair => other.has(pair)).length
  return one.size + other.size === 0 ? 0 : (2 * shared) / (one.size + other.size)
}

/** Shorter names are one typing mistake away from too many others. */
const leastLetters = 4

/** One letter is wrong, missing or too many, or two neighbours are swapped: short names then share few pairs. */
function isOneSlip(one: string, other: string): boolean {
  if (Math.min(one.length, other.length) < leastLetters) return false
  let start = 0
  while (start < one.length && one[start] === other[start]) start++
  let [end, otherEnd] = [one.length, other.length]
  while (end > start && otherEnd > start && one[end - 1] === other[otherEnd - 1]) {
    end--
    otherEnd--
  }
  const [left, right] = [one.slice(start, end), other.slice(start, otherEnd)]
  return Math.max(left.length, right.length) < 2 || (left.length === 2 && left === [...right].reverse().join(''))
}
