import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { csvText, saveFile } from './format.ts'

export interface Column<Row> {
  name: string
  /** The content of the cell. */
  show(row: Row): ComponentChildren
  /** The value in the CSV file; a column without it is left out. */
  text?(row: Row): string
  isNumber?: boolean
}

interface TableProps<Row> {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
  /** Shown if there are no rows. */
  empty: string
  /** How many rows are shown before a button is pressed; all by default. */
  first?: number
}

/** Marks an empty cell; the card on a narrow screen leaves it out. */
export const nothing = '–'

/** A table; on a narrow screen, a card for each row. */
export function Table<Row>({ rows, empty, first = rows.length, ...shown }: TableProps<Row>): JSX.Element {
  const isWhole = useSignal(false)
  if (rows.length === 0) return <p class="quiet">{empty}</p>
  if (rows.length <= first) return <Rows {...shown} rows={rows} />
  return (
    <>
      <Rows {...shown} rows={isWhole.value ? rows : rows.slice(0, first)} />
      <p class="controls">
        <button
          type="button"
          aria-expanded={isWhole.value}
          onClick={() => {
            isWhole.value = !isWhole.value
          }}
        >
          {isWhole.value ? `Show the first ${first}` : `Show all ${rows.length}`}
        </button>
      </p>
    </>
  )
}

function Rows<Row>({ caption, columns, rows, keyOf }: Omit<TableProps<Row>, 'empty' | 'first'>): JSX.Element {
  return (
    <table class="table">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ name, isNumber }) => (
            <th key={name} scope="col" class={isNumber ? 'number' : undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={keyOf(row)}>
            {columns.map(({ name, show, isNumber }) => {
              const cell = show(row)
              const classes = [isNumber && 'number', cell === nothing && 'nothing'].filter(Boolean).join(' ')
              return (
                <td key={name} data-name={name} class={classes || undefined}>
                  {/* One element, or the card of a narrow screen breaks. */}
                  <div>{cell}</div>
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Saves the columns that have a text as a CSV file. */
export function saveTable<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const told = columns.flatMap(({ name: head, text }) => (text ? [{ head, text }] : []))
  const lines = rows.map(row => told.map(({ text }) => text(row)))
  const heads = told.map(({ head }) => head.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'))
  saveFile(name, csvText(heads, lines))
}
