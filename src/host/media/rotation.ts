/** Filters that turn frames upright, by the nine numbers of a display matrix; only quarter turns are in use. */
export function turnOf(matrix: Buffer): readonly string[] {
  const sign = (place: number) => Math.sign(matrix.readInt32LE(place * 4))
  return turns[[0, 1, 3, 4].map(sign).join(' ')] ?? []
}

/** By the signs of the four numbers that turn and mirror. */
const turns: Readonly<Record<string, readonly string[]>> = {
  '0 1 -1 0': ['transpose=clock'],
  '0 -1 1 0': ['transpose=cclock'],
  '-1 0 0 -1': ['hflip', 'vflip'],
  '-1 0 0 1': ['hflip'],
  '1 0 0 -1': ['vflip'],
}
