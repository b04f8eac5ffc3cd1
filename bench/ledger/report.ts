/** One measured figure, with the least that it has to be where it has a goal. */
export interface Line {
  what: string
  value: number
  digits?: number
  unit?: string
  atLeast?: number
}

export const isMissed = ({ value, atLeast }: Line): boolean => atLeast !== undefined && !(value >= atLeast)

/** A table of one line a figure. */
export function report(lines: readonly Line[]): string {
  const width = Math.max(...lines.map(({ what }) => what.length))
  return lines
    .map(line => {
      const { what, value, digits = 0, unit = '', atLeast } = line
      const goal = atLeast === undefined ? '' : `goal ≥ ${atLeast}${unit}  ${isMissed(line) ? 'not met' : 'pass'}`
      return `${what.padEnd(width)}  ${`${value.toFixed(digits)}${unit}`.padStart(12)}  ${goal}`.trimEnd()
    })
    .join('\n')
}
