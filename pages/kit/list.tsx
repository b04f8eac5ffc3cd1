import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { Options, RefusedNote } from './dialog.tsx'
import { count } from './format.ts'
import { place, setQuery } from './router.ts'
import { type Column, Table } from './table.tsx'
import type { ListPage, Refused } from './wire.ts'

/** Shown until the server answers. */
export function Waiting({ problem }: { problem: Refused | null }): JSX.Element {
  return problem ? <RefusedNote refused={problem} /> : <p class="quiet">Loading…</p>
}

/** The cursors of the pages so far. With another filter, the list begins at the first page. */
export function useTurned(filter: Readonly<Record<string, string>>): Signal<readonly string[]> {
  const turned = useSignal<readonly string[]>([])
  const key = JSON.stringify(filter)
  const lastKey = useRef(key)
  if (lastKey.current !== key) {
    lastKey.current = key
    turned.value = []
  }
  return turned
}

/** The parts that every list has. */
export interface ListLook<Row> {
  caption: string
  columns: readonly Column<Row>[]
  keyOf(row: Row): string
  empty: string
}

interface PagedTableProps<Row> extends ListLook<Row> {
  /** Null until the server answers. */
  page: ListPage<Row> | null
  problem: Refused | null
  turned: Signal<readonly string[]>
  /** Rows of a full page. */
  pageRows: number
}

/** A list that the server pages, with its total. */
export function PagedTable<Row>({ page, problem, turned, pageRows, ...look }: PagedTableProps<Row>): JSX.Element {
  if (!page) return <Waiting problem={problem} />
  const { rows, total, next } = page
  const from = turned.value.length * pageRows
  return (
    <>
      <RefusedNote refused={problem} />
      <Table {...look} rows={rows} />
      <nav class="controls" aria-label={`Pages of ${look.caption.toLowerCase()}`}>
        <button
          type="button"
          disabled={turned.value.length === 0}
          onClick={() => {
            turned.value = turned.value.slice(0, -1)
          }}
        >
          Back
        </button>
        <span role="status">
          {rows.length === 0 ? 'None' : `${count(from + 1)}–${count(from + rows.length)}`}
          {total === null ? '' : ` of ${count(total)}`}
        </span>
        <button
          type="button"
          disabled={next === null}
          onClick={() => {
            if (next !== null) turned.value = [...turned.value, next]
          }}
        >
          Next
        </button>
      </nav>
    </>
  )
}

interface FilterProps {
  label: string
  /** The query parameter that it sets, so that links include the filter. */
  name: string
}

interface ChoiceProps extends FilterProps {
  values: readonly string[]
  /** The meaning of an empty value. */
  none?: string
}

/** Filters a list by one of some values. A link may name a value that is not among them. */
export function Choice({ label, name, values, none = 'all' }: ChoiceProps): JSX.Element {
  const chosen = place.value.query.get(name) ?? ''
  const all = chosen === '' || values.includes(chosen) ? values : [chosen, ...values]
  return (
    <label>
      {label}{' '}
      <select value={chosen} onChange={event => setQuery({ [name]: event.currentTarget.value })}>
        <option value="">{none}</option>
        <Options of={all} />
      </select>
    </label>
  )
}

/** Filters a list by a text, when the field loses the focus or Enter is pressed. */
export function Search({ label, name, placeholder = '' }: FilterProps & { placeholder?: string }): JSX.Element {
  return (
    <label>
      {label}{' '}
      <input
        type="search"
        placeholder={placeholder}
        value={place.value.query.get(name) ?? ''}
        onChange={event => setQuery({ [name]: event.currentTarget.value.trim() })}
      />
    </label>
  )
}

/** Filters a list by a day. */
export function DayField({ label, name }: FilterProps): JSX.Element {
  return (
    <label>
      {label}{' '}
      <input
        type="date"
        value={place.value.query.get(name) ?? ''}
        onChange={event => setQuery({ [name]: event.currentTarget.value })}
      />
    </label>
  )
}

/** The query parameters that filter a list. */
export const filterOf = (...names: string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap(name => {
      const value = place.value.query.get(name)
      return value ? [[name, value]] : []
    }),
  )
