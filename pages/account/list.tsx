import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { RefusedNote } from '../kit/dialog.tsx'
import { count, utcTime } from '../kit/format.ts'
import { place, setQuery } from '../kit/router.ts'
import { type Column, Table } from '../kit/table.tsx'
import type { Refused } from '../kit/wire.ts'
import { useAnswer } from './reading.ts'
import type { ListPage } from './wire.ts'

/** Shown until the server has answered. */
export function Waiting({ problem }: { problem: Refused | null }): JSX.Element {
  return problem ? <RefusedNote refused={problem} /> : <p class="quiet">Reading the ledger…</p>
}

interface ListProps<Row> {
  /** The question that answers a page. */
  name: string
  caption: string
  filter: Readonly<Record<string, string>>
  columns: readonly Column<Row>[]
  keyOf(row: Row): string
  empty: string
  /** Rows of a full page. */
  pageRows: number
  /** Changes when the rows have changed, so that they are read again. */
  version?: number
}

/** A list that the server pages and filters. A new filter starts at the first page. */
export function List<Row>(props: ListProps<Row>): JSX.Element {
  const { name, caption, filter, columns, keyOf, empty, pageRows, version = 0 } = props
  /** `after` of each page that was turned to. */
  const turned = useSignal<readonly string[]>([])
  const question = JSON.stringify(filter)
  const lastQuestion = useRef(question)
  if (lastQuestion.current !== question) {
    lastQuestion.current = question
    turned.value = []
  }
  const after = turned.value.at(-1)
  const { value: page, problem } = useAnswer<ListPage<Row>>(
    name,
    after === undefined ? filter : { ...filter, after },
    version,
  )
  if (!page) return <Waiting problem={problem} />
  const { rows, total, next } = page
  const from = turned.value.length * pageRows
  return (
    <>
      <RefusedNote refused={problem} />
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

interface FieldProps {
  label: string
  /** The query parameter that it sets, so that a link keeps the filter. */
  name: string
}

/** Filters a list by a day. */
export function DayField({ label, name }: FieldProps): JSX.Element {
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

/** Filters a list by one of some values. */
export function Choice({ label, name, values }: FieldProps & { values: readonly string[] }): JSX.Element {
  const chosen = place.value.query.get(name) ?? ''
  const all = chosen === '' || values.includes(chosen) ? values : [chosen, ...values]
  return (
    <label>
      {label}{' '}
      <select value={chosen} onChange={event => setQuery({ [name]: event.currentTarget.value })}>
        <option value="">all</option>
        {all.map(value => (
          <option key={value} value={value}>
            {value}
          </option>
        ))}
      </select>
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

/** A moment in UTC, on one line. */
export const Time = ({ atMs }: { atMs: number }): JSX.Element => (
  <time dateTime={new Date(atMs).toISOString()}>{utcTime(atMs)}</time>
)

/** A request's id, which leads to its details. */
export const RequestLink = ({ request }: { request: string }): JSX.Element => (
  <a href={`/account/request?${new URLSearchParams({ id: request })}`}>
    <code>{request}</code>
  </a>
)
