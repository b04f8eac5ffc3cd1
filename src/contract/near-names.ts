/** The names that are most like one that is not there, the likest first; only those that share a good part with it (0 to 1). */
export function nearNames(
  wanted: string,
  names: readonly string[],
  most: number,
  leastLikeness = usualLikeness,
): string[] {
  const pairs = pairsOf(wanted)
  return names
    .map(name => ({ name, likeness: likeness(pairs, pairsOf(name)) }))
    .filter(each => each.likeness >= leastLikeness)
    .sort((one, other) => other.likeness - one.likeness || (one.name < other.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name)
}

const usualLikeness = 0.35

/** Two letters that follow each other, which survive a word that moved and a letter that is wrong. */
function pairsOf(name: string): Set<string> {
  const letters = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '')
  return new Set(Array.from(letters.slice(1), (letter, index) => `${letters[index]}${letter}`))
}

/** Sørensen and Dice: what both share, as a part of what both have. */
function likeness(one: Set<string>, other: Set<string>): number {
  const shared = [...one].filter(pair => other.has(pair)).length
  return one.size + other.size === 0 ? 0 : (2 * shared) / (one.size + other.size)
}
