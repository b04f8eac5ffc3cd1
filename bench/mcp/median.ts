/** The middle value; of an even count, the upper of the two. Throws where there is none. */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b)[values.length >> 1]
  if (middle === undefined) throw new Error('Nothing was measured.')
  return middle
}
