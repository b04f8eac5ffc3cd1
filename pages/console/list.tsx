import type { JSX } from 'preact'
import { RefusedNote } from '../kit/dialog.tsx'
import { count, utcTime } from '../kit/format.ts'
import { place, setQuery } from '../kit/router.ts'
import { type Column, Table } from '../kit/table.tsx'
import type { Refused } from '../kit/wire.ts'
import { customerPath, type ListName, pageRows, type RowOf, titleOf, useList } from './operator.ts'

/** Shown until the server answers. */
export function Waiting({ problem }: { problem: Refused | null }): JSX.Element {
  return problem ? <RefusedNote refused={problem} /> : <p class="quiet">Reading…</p>
}

interface ListProps<Name extends ListName> {
  name: Name
  /** The name for screen readers. */
  caption: string
  filter: Readonly<Record<string, string>>
  columns: readonly Column<RowOf<Name>>[]
  keyOf(row: RowOf<Name>): string
  empty: string
  /** Reads the list again when it changes. */
  version?: number
}

/** A list from the server, with its pages and its total. */
export function List<Name extends ListName>({
  name,
  caption,
  filter,
  columns,
  keyOf,
  empty,
  version = 0,
}: ListProps<Name>): JSX.Element {
  const { list, turned } = useList(name, filter, version)
  const page = list.value.value
  if (!page) return <Waiting problem={list.problem.value} />
  const { total, next } = page
  const rows = page.rows as RowOf<Name>[]
  const from = turned.value.length * pageRows
  return (
    <>
      <RefusedNote refused={list.problem.value} />
      <Table caption={caption} columns={columns} rows={rows} keyOf={keyOf} empty={empty} />
      <nav class="controls" aria-label={`Pages of ${caption.toLowerCase()}`}>
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

interface ChoiceProps {
  label: string
  /** The query parameter that it sets. */
  name: string
  values: readonly string[]
  /** The meaning of an empty value. */
  none?: string
}

/** A choice that filters the list. It is in the address, so that links include it. */
export function Choice({ label, name, values, none = 'all' }: ChoiceProps): JSX.Element {
  return (
    <label>
      {label}{' '}
      <select
        value={place.value.query.get(name) ?? ''}
        onChange={event => setQuery({ [name]: event.currentTarget.value })}
      >
        <option value="">{none}</option>
        {values.map(value => (
          <option key={value} value={value}>
            {value}
          </option>
        ))}
      </select>
    </label>
  )
}

interface SearchProps {
  label: string
  name: string
  placeholder?: string
}

/** A field that filters the list when it loses the focus or Enter is pressed. */
export function Search({ label, name, placeholder = '' }: SearchProps): JSX.Element {
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

/** The same for a date. */
export function DayField({ label, name }: { label: string; name: string }): JSX.Element {
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
    names.flatMap(name => (place.value.query.get(name) ? [[name, place.value.query.get(name) ?? '']] : [])),
  )

/** A time in UTC, on one line. */
export const Time = ({ atMs }: { atMs: number }): JSX.Element => (
  <time dateTime={new Date(atMs).toISOString()}>{utcTime(atMs)}</time>
)

/** A request's id, linked to its page. */
export const RequestLink = ({ request, name = request }: { request: string; name?: string }): JSX.Element => (
  <a href={`/request?${new URLSearchParams({ id: request })}`}>
    <code>{name}</code>
  </a>
)

/** A customer's name, linked to their page. */
export function CustomerLink(row: { customer: string; name: string | null }): JSX.Element {
  return (
    <a href={customerPath(row.customer)} title={row.customer}>
      {titleOf(row)}
    </a>
  )
}
