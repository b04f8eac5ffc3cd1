import { failuresPrinted } from './bounds.ts'

/** Names and values under each other. */
export const rowsAsLines = (rows: readonly (readonly [name: string, value: string])[]): string[] =>
  rows.map(([name, value]) => `${name.padEnd(28)}${value}`)

/** The first of them, and how many more there are. */
export function failuresAsLines(all: readonly string[]): string[] {
  const shown = all.slice(0, failuresPrinted).map(each => `✗ ${each}`)
  return all.length > shown.length ? [...shown, `✗ and ${all.length - shown.length} more`] : shown
}
