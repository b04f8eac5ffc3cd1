/** One measured figure, with the goal that it has, if any. */
export interface Line {
  what: string
  value: number
  atLeast?: number
  atMost?: number
  unit?: string
  digits?: number
}

export const isMissed = ({ value, atLeast, atMost }: Line): boolean =>
  (atLeast !== undefined && !(value >= atLeast)) || (atMost !== undefined && !(value <= atMost))

/** A table of one line a figure. */
export function report(lines: readonly Line[]): string {
  const width = Math.max(...lines.map(({ what }) => what.length))
  return lines
    .map(line => `${line.what.padEnd(width)}  ${inUnits(line).padStart(12)}  ${goalOf(line)}`.trimEnd())
    .join('\n')
}

export const inUnits = ({ value, digits = 0, unit = '' }: Pick<Line, 'value' | 'digits' | 'unit'>): string =>
  `${value.toFixed(digits)}${unit}`

/** `goal ≤ 1 ms, met`; empty for a figure that has none. */
export function goalOf(line: Line): string {
  const { atLeast, atMost, unit = '' } = line
  const bounds = [
    atLeast === undefined ? [] : [`≥ ${atLeast}${unit}`],
    atMost === undefined ? [] : [`≤ ${atMost}${unit}`],
  ]
  const goal = bounds.flat().join(', ')
  return goal && `goal ${goal}: ${isMissed(line) ? 'missed' : 'met'}`
}

/** The middle value; of an even count, the upper of the two. Throws where there is none. */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b)[values.length >> 1]
  if (middle === undefined) throw new Error('Nothing was measured.')
  return middle
}

/** The value below which that share of all lies, from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
