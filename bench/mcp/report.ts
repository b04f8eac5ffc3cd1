/** One measured figure beside its goal. */
export interface Line {
  what: string
  value: number
  /** The most that it may be; a figure without a goal is told for comparison. */
  atMost?: number
  unit?: string
  digits?: number
}

export const isMissed = ({ value, atMost }: Line): boolean => atMost !== undefined && !(value <= atMost)

/** A table of one line a figure. */
export function report(lines: readonly Line[]): string {
  const width = Math.max(...lines.map(({ what }) => what.length))
  return lines
    .map(line => {
      const { what, value, atMost, unit = '', digits = 0 } = line
      const goal = atMost === undefined ? '' : `goal ≤ ${atMost}${unit}  ${isMissed(line) ? 'MISSED' : 'met'}`
      return `${what.padEnd(width)}  ${`${value.toFixed(digits)}${unit}`.padStart(10)}  ${goal}`.trimEnd()
    })
    .join('\n')
}

/** The middle value; of an even count, the upper of the two. Throws where there is none. */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b)[values.length >> 1]
  if (middle === undefined) throw new Error('Nothing was measured.')
  return middle
}
