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

/** Another one begins in each round and every other round goes backwards, so that none always follows the same neighbour. */
export function turned<Item>(items: readonly Item[], by: number): Item[] {
  const at = items.length ? by % items.length : 0
  const order = [...items.slice(at), ...items.slice(0, at)]
  return by % 2 === 0 ? order : order.reverse()
}
