/**
 * Measures every side once in each round, one after the other, so that what slows the machine for a moment weighs on all of
 * them. Answers the measurements of each side, a round after the other.
 */
export async function inTurn<Side, Measured>(
  sides: readonly Side[],
  rounds: number,
  measure: (side: Side, round: number) => Promise<Measured>,
): Promise<Measured[][]> {
  const measured = sides.map(() => [] as Measured[])
  for (let round = 0; round < rounds; round++) {
    for (const [index, side] of turned([...sides.entries()], round)) measured[index]?.push(await measure(side, round))
  }
  return measured
}

/** Every other round goes backwards, and after each two another one begins, so that none always follows the same neighbour. */
export function turned<Item>(items: readonly Item[], round: number): Item[] {
  const at = items.length ? (round >> 1) % items.length : 0
  const order = [...items.slice(at), ...items.slice(0, at)]
  return round % 2 === 0 ? order : order.reverse()
}
