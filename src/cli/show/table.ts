import { stripVTControlCharacters } from 'node:util'
import CliTable from 'cli-table3'
import type { Output } from '../output.ts'
import { paintFor } from './style.ts'

type Shown = Pick<Output, 'isTerminal' | 'isColoured' | 'columns'>

export interface Table {
  head?: readonly string[]
  rows: readonly (readonly string[])[]
  /** Columns of numbers, by their place. */
  right?: readonly number[]
  /** Maximum widths of columns, which wrap their words; the last column wraps at the end of the line. */
  most?: Readonly<Record<number, number>>
  /** Minimum widths of columns, for a table that is printed row by row. */
  least?: Readonly<Record<number, number>>
  /** Spaces before every line. */
  indent?: number
  /** Text to be read, such as help: also aligned in a pipe, and never broken there. */
  isAligned?: boolean
}

/** Between two columns. */
const gap = '  '

/** The last column is not made narrower than this; then the terminal breaks its lines. */
const leastWidth = 24

const noBorders = Object.fromEntries(
  ['top', 'bottom', 'left', 'right']
    .flatMap(side => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .concat('mid', 'mid-mid')
    .map(name => [name, '']),
)

/**
 * The lines of a table: aligned under the headings on a terminal; in a pipe one line for each row, with two spaces
 * between cells.
 */
export function tableLines(table: Table, output: Shown): string[] {
  const { head = [], rows, right = [], most = {}, least = {}, indent = 0, isAligned = false } = table
  if (rows.length === 0) return []
  const before = ' '.repeat(indent)
  if (!output.isTerminal && !isAligned) return rows.map(row => before + row.filter(cell => cell !== '').join(gap))
  const paint = paintFor(output)
  const kept = (rows[0] ?? [])
    .map((_, column) => column)
    .filter(column => column in least || rows.some(row => row[column] !== ''))
  const pick = (row: readonly string[]) => kept.map(column => row[column] ?? '')
  const all = [
    ...(head.length > 0 && output.isTerminal ? [pick(head).map(cell => paint('heading', cell))] : []),
    ...rows.map(pick),
  ]
  const drawn = new CliTable({
    chars: { ...noBorders, middle: gap },
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
    colAligns: kept.map(column => (right.includes(column) ? 'right' : 'left')),
    colWidths: widthsOf(
      all,
      kept.map(column => ({ most: most[column] ?? Number.POSITIVE_INFINITY, least: least[column] ?? 0 })),
      output.isTerminal ? output.columns - indent : Number.POSITIVE_INFINITY,
    ),
    wordWrap: true,
  })
  drawn.push(...all)
  const lines = drawn.toString().split('\n')
  return lines.map(line => before + line.trimEnd())
}

export function printTable(table: Table, output: Output): void {
  for (const line of tableLines(table, output)) output.print(line)
}

/**
 * Returns the width of each column; the last one gets the rest. No column is narrower than a word, so that addresses
 * are not cut.
 */
function widthsOf(
  rows: readonly (readonly string[])[],
  bounds: readonly { least: number; most: number }[],
  columns: number,
): number[] {
  let left = columns - 1
  return bounds.map(({ least, most }, column) => {
    const cells = rows.map(row => row[column] ?? '')
    const room = column < bounds.length - 1 ? most : Math.max(leastWidth, left)
    const word = longest(cells.flatMap(cell => cell.split(/\s+/)))
    const whole = longest(cells.flatMap(cell => cell.split('\n')))
    const width = Math.max(least, Math.min(whole, Math.max(room, word)))
    left -= width + gap.length
    return width
  })
}

/**
 * Characters of other scripts count twice: a column that is too wide costs nothing, and one that is too narrow cuts a
 * word.
 */
function widthOf(text: string): number {
  let width = 0
  for (const character of stripVTControlCharacters(text)) width += (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2
  return width
}

const longest = (texts: readonly string[]): number => Math.max(0, ...texts.map(widthOf))

/** A fact with its name; without a name it is a sentence. */
export type Fact = readonly [name: string, value: string]

/** Formats facts as `name: value`, one per line. On a terminal the values are aligned. */
export function factLines(facts: readonly Fact[], output: Shown): string[] {
  if (!output.isTerminal) return facts.map(([name, value]) => (name === '' ? value : `${name}: ${value}`))
  const paint = paintFor(output)
  return tableLines({ rows: facts.map(([name, value]) => [paint('faint', name), value]) }, output)
}
